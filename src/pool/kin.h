/* The branches of one jail, in an event loop: run/family.h with its descriptors watched, and a queue of those who wait for a branch. */
#pragma once
#include "pool/pool.h"

struct aj_kin;

/* Who has the jails: told of a branch that is about to be given away, and of one that never will be, which is theirs to end. */
struct aj_kin_owner {
	void (*there)(void *arg, struct aj_worker *branch);
	void (*failed)(void *arg, struct aj_worker *branch);
	void *arg;
};

/* Make a jail the first of its family. It takes itself out of the list when the last one is gone. NULL with err. */
struct aj_kin *aj_kin_new(struct aj_kin **list, struct aj_loop *loop, const struct aj_kin_owner *owner, struct aj_worker *first,
                          int filters, struct aj_error *err);
struct aj_kin *aj_kin_next(const struct aj_kin *kin);
/* The one that a jail belongs to, or NULL. */
struct aj_kin *aj_kin_of(struct aj_kin *list, const struct aj_worker *worker);

void aj_kin_ask(struct aj_kin *kin, struct aj_worker *of, struct aj_asker *asker);
bool aj_kin_unask(struct aj_kin *kin, struct aj_asker *asker);
/* One of them is about to be ended by its owner: who waits for a copy of it is told. */
void aj_kin_lose(struct aj_kin *kin, struct aj_worker *worker);
/* Kill all of them; then, when they are gone, free it. */
void aj_kin_stop(struct aj_kin *kin);
void aj_kin_free(struct aj_kin *kin);
