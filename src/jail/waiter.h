/* A waiter for a jail, and a FIFO queue of waiters. The queue owns no waiter and calls none. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/error.h"

struct aj_jail;

/* Called once, with either jail or err, from the loop or from aj_pool_request() itself; the jail then belongs to the waiter
 * (on_event, owner), is armed, and has run nothing. */
struct aj_jail_waiter {
	void (*fn)(struct aj_jail_waiter *waiter, struct aj_jail *jail, const struct aj_error *err);
	void *arg;
	TAILQ_ENTRY(aj_jail_waiter) queued;
	struct aj_jail *of; /* the jail to be copied, where the waiter waits for a branch */
};

TAILQ_HEAD(aj_jail_waiters, aj_jail_waiter);

/* The oldest waiter, taken out; NULL: the queue is empty. */
static inline struct aj_jail_waiter *aj_jail_waiters_take(struct aj_jail_waiters *waiters)
{
	struct aj_jail_waiter *first = TAILQ_FIRST(waiters);
	if (first)
		TAILQ_REMOVE(waiters, first, queued);
	return first;
}

/* False: the waiter is not in the queue. */
static inline bool aj_jail_waiters_remove(struct aj_jail_waiters *waiters, struct aj_jail_waiter *waiter)
{
	struct aj_jail_waiter *at;
	TAILQ_FOREACH(at, waiters, queued)
		if (at == waiter) {
			TAILQ_REMOVE(waiters, waiter, queued);
			return true;
		}
	return false;
}
