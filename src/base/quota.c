/* The arithmetic of quotas: what was used, what is given back, who is throttled.
 * It favours nobody: what is given back is divided evenly among those that used something, so a crowd of busy parties gets no more than one. */
#include "base/quota.h"

#include <stddef.h>

enum { NS_OF_US = 1000 };

static void join(struct aj_quotas *all, struct aj_quota *q)
{
	q->next = all->first;
	q->at = &all->first;
	if (q->next)
		q->next->at = &q->next;
	all->first = q;
	all->count++;
}

void aj_quota_leave(struct aj_quotas *all, struct aj_quota *q)
{
	if (!q->at)
		return;
	aj_quota_resume(all, q);
	*q->at = q->next;
	if (q->next)
		q->next->at = q->at;
	q->at = NULL;
	q->used_ns = 0;
	all->count--;
}

bool aj_quota_due(const struct aj_quota *q)
{
	return q->used_ns < (int64_t)AJ_QUOTA_AHEAD_US * NS_OF_US;
}

bool aj_quota_busy(const struct aj_quota *q)
{
	return q->used_ns >= (int64_t)AJ_QUOTA_BUSY_US * NS_OF_US;
}

void aj_quota_refill(struct aj_quotas *all, int64_t now_us)
{
	int64_t elapsed_us = now_us - all->refilled_us;
	all->refilled_us = now_us;
	if (!all->count || elapsed_us <= 0)
		return;
	/* After a minute everybody has everything back. */
	int64_t each_ns = (elapsed_us < 60000000 ? elapsed_us : 60000000) * NS_OF_US / 100 * AJ_QUOTA_PERCENT / all->count;
	for (struct aj_quota *q = all->first, *next; q; q = next) {
		next = q->next;
		q->used_ns -= each_ns;
		if (q->used_ns > 0)
			continue;
		q->used_ns = 0;
		if (!q->throttled)
			aj_quota_leave(all, q);
	}
}

bool aj_quota_charge(struct aj_quotas *all, struct aj_quota *q, int64_t ns, int64_t now_us)
{
	if (!q->at)
		join(all, q);
	if (all->last != q)
		all->changed_us = now_us;
	all->last = q;
	q->used_ns += ns;
	if (aj_quota_due(q) || q->throttled)
		return false;
	aj_quota_refill(all, now_us);
	if (!q->at || aj_quota_due(q) || now_us - all->changed_us > AJ_QUOTA_ALONE_US)
		return false;
	q->throttled = true;
	all->throttled++;
	return true;
}

void aj_quota_resume(struct aj_quotas *all, struct aj_quota *q)
{
	all->throttled -= q->throttled;
	q->throttled = false;
}
