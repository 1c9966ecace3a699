/* The branches of one jail, in an event loop: fork/group.h with its descriptors watched, and a queue of waiters for a branch. */
#pragma once
#include "pool/pool.h"

struct aj_fork_watch;

/* The pool's callbacks: a branch that is about to be handed out; a branch that failed, which the pool must end. */
struct aj_fork_watch_owner {
	void (*there)(void *arg, struct aj_worker *branch);
	void (*failed)(void *arg, struct aj_worker *branch);
	void *arg;
};

/* Make a jail the first of a fork group. The watch leaves the list when the group's last jail is gone. NULL with err. */
struct aj_fork_watch *aj_fork_watch_new(struct aj_fork_watch **list, struct aj_loop *loop, const struct aj_fork_watch_owner *owner,
                                        struct aj_worker *first, int filters, struct aj_error *err);
struct aj_fork_watch *aj_fork_watch_next(const struct aj_fork_watch *watch);
/* The watch of a jail's fork group, or NULL. */
struct aj_fork_watch *aj_fork_watch_of(struct aj_fork_watch *list, const struct aj_worker *worker);

void aj_fork_watch_request(struct aj_fork_watch *watch, struct aj_worker *of, struct aj_waiter *waiter);
bool aj_fork_watch_cancel(struct aj_fork_watch *watch, struct aj_waiter *waiter);
/* The owner is about to end this jail: fails the queued requests for copies of it. */
void aj_fork_watch_lose(struct aj_fork_watch *watch, struct aj_worker *worker);
/* Kill the whole group; free the watch once all jails are gone. */
void aj_fork_watch_stop(struct aj_fork_watch *watch);
void aj_fork_watch_free(struct aj_fork_watch *watch);
