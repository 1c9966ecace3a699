/* The queue of those who wait for a jail.
 * It calls nobody: who takes an asker out of it tells that one what became of its question. */
#include "pool/askers.h"

#include <stddef.h>

void aj_askers_add(struct aj_askers *q, struct aj_asker *asker)
{
	asker->next = NULL;
	if (q->last)
		q->last->next = asker;
	else
		q->first = asker;
	q->last = asker;
}

struct aj_asker *aj_askers_take(struct aj_askers *q)
{
	struct aj_asker *first = q->first;
	if (first)
		aj_askers_remove(q, first);
	return first;
}

bool aj_askers_remove(struct aj_askers *q, const struct aj_asker *asker)
{
	struct aj_asker *before = NULL, *at = q->first;
	for (; at && at != asker; at = at->next)
		before = at;
	if (!at)
		return false;
	*(before ? &before->next : &q->first) = at->next;
	if (q->last == at)
		q->last = before;
	return true;
}
