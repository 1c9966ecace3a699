/* The queue of those who wait for a jail.
 * It calls nobody: who takes an asker out of it tells that one what became of its question. */
#include "pool/queue.h"

#include <stddef.h>

void aj_waiters_add(struct aj_waiters *q, struct aj_waiter *asker)
{
	asker->next = NULL;
	if (q->last)
		q->last->next = asker;
	else
		q->first = asker;
	q->last = asker;
}

struct aj_waiter *aj_waiters_take(struct aj_waiters *q)
{
	struct aj_waiter *first = q->first;
	if (first)
		aj_waiters_remove(q, first);
	return first;
}

bool aj_waiters_remove(struct aj_waiters *q, const struct aj_waiter *asker)
{
	struct aj_waiter *before = NULL, *at = q->first;
	for (; at && at != asker; at = at->next)
		before = at;
	if (!at)
		return false;
	*(before ? &before->next : &q->first) = at->next;
	if (q->last == at)
		q->last = before;
	return true;
}
