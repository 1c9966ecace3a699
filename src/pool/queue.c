/* The queue of waiters for a jail.
 * Calls no waiter: the caller that dequeues a waiter must call it. */
#include "pool/queue.h"

#include <stddef.h>

void aj_waiters_add(struct aj_waiters *q, struct aj_waiter *waiter)
{
	waiter->next = NULL;
	if (q->last)
		q->last->next = waiter;
	else
		q->first = waiter;
	q->last = waiter;
}

struct aj_waiter *aj_waiters_take(struct aj_waiters *q)
{
	struct aj_waiter *first = q->first;
	if (first)
		aj_waiters_remove(q, first);
	return first;
}

bool aj_waiters_remove(struct aj_waiters *q, const struct aj_waiter *waiter)
{
	struct aj_waiter *before = NULL, *at = q->first;
	for (; at && at != waiter; at = at->next)
		before = at;
	if (!at)
		return false;
	*(before ? &before->next : &q->first) = at->next;
	if (q->last == at)
		q->last = before;
	return true;
}
