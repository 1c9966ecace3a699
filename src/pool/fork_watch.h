/* The branches of one jail, in an event loop: fork/group.h with its descriptors watched, and a queue of those who wait for a branch. */
#pragma once
#include "pool/pool.h"

struct aj_fork_watch;

/* Who has the jails: told of a branch that is about to be given away, and of one that never will be, which is theirs to end. */
struct aj_fork_watch_owner {
	void (*there)(void *arg, struct aj_worker *branch);
	void (*failed)(void *arg, struct aj_worker *branch);
	void *arg;
};

/* Make a jail the first of its family. It takes itself out of the list when the last one is gone. NULL with err. */
struct aj_fork_watch *aj_fork_watch_new(struct aj_fork_watch **list, struct aj_loop *loop, const struct aj_fork_watch_owner *owner,
                                        struct aj_worker *first, int filters, struct aj_error *err);
struct aj_fork_watch *aj_fork_watch_next(const struct aj_fork_watch *kin);
/* The one that a jail belongs to, or NULL. */
struct aj_fork_watch *aj_fork_watch_of(struct aj_fork_watch *list, const struct aj_worker *worker);

void aj_fork_watch_ask(struct aj_fork_watch *kin, struct aj_worker *of, struct aj_waiter *asker);
bool aj_fork_watch_unask(struct aj_fork_watch *kin, struct aj_waiter *asker);
/* One of them is about to be ended by its owner: who waits for a copy of it is told. */
void aj_fork_watch_lose(struct aj_fork_watch *kin, struct aj_worker *worker);
/* Kill all of them; then, when they are gone, free it. */
void aj_fork_watch_stop(struct aj_fork_watch *kin);
void aj_fork_watch_free(struct aj_fork_watch *kin);
