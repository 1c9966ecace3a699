/* A waiter for a jail, and a FIFO queue of waiters. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

struct aj_worker;

/* Called once, with either worker or err; the worker then belongs to the waiter (on_event, owner), is armed, and has run nothing. Called
 * from the loop, or from aj_pool_request() itself. */
struct aj_waiter {
	void (*fn)(struct aj_waiter *waiter, struct aj_worker *worker, const struct aj_error *err);
	void *arg;
	struct aj_waiter *next; /* the queue's */
	struct aj_worker *of;   /* the pool's: the jail to be copied, see aj_pool_branch() */
};

/* All zero: empty. Owns no waiter. */
struct aj_waiters {
	struct aj_waiter *first, *last;
};

void aj_waiters_add(struct aj_waiters *waiters, struct aj_waiter *waiter);
/* The oldest waiter, or NULL. */
struct aj_waiter *aj_waiters_take(struct aj_waiters *waiters);
/* false: not in the queue. */
bool aj_waiters_remove(struct aj_waiters *waiters, const struct aj_waiter *waiter);
