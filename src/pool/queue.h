/* Who waits for a jail, and a queue of such: first come, first served. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

struct aj_worker;

/* Waits for a jail. Exactly one of worker and err is given; the worker is the asker's from then on (on_event, owner), armed, and
 * has run nothing. Called from the loop, or from aj_pool_ask() itself. */
struct aj_waiter {
	void (*fn)(struct aj_waiter *asker, struct aj_worker *worker, const struct aj_error *err);
	void *arg;
	struct aj_waiter *next; /* the queue's */
	struct aj_worker *of;   /* the pool's: the jail that is to be copied, see aj_pool_branch() */
};

/* All zero: nobody. It owns none of them. */
struct aj_waiters {
	struct aj_waiter *first, *last;
};

void aj_waiters_add(struct aj_waiters *askers, struct aj_waiter *asker);
/* Who came first, or NULL. */
struct aj_waiter *aj_waiters_take(struct aj_waiters *askers);
/* false: it is not among them. */
bool aj_waiters_remove(struct aj_waiters *askers, const struct aj_waiter *asker);
