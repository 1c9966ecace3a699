/* Who waits for a jail, and a queue of such: first come, first served. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

struct aj_worker;

/* Waits for a jail. Exactly one of worker and err is given; the worker is the asker's from then on (on_event, owner), armed, and
 * has run nothing. Called from the loop, or from aj_pool_ask() itself. */
struct aj_asker {
	void (*fn)(struct aj_asker *asker, struct aj_worker *worker, const struct aj_error *err);
	void *arg;
	struct aj_asker *next; /* the queue's */
	struct aj_worker *of;  /* the pool's: the jail that is to be copied, see aj_pool_branch() */
};

/* All zero: nobody. It owns none of them. */
struct aj_askers {
	struct aj_asker *first, *last;
};

void aj_askers_add(struct aj_askers *askers, struct aj_asker *asker);
/* Who came first, or NULL. */
struct aj_asker *aj_askers_take(struct aj_askers *askers);
/* false: it is not among them. */
bool aj_askers_remove(struct aj_askers *askers, const struct aj_asker *asker);
