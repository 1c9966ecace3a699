/* The arithmetic of quotas: use, refill, and which parties are throttled.
 * The refill is divided evenly among the throttled parties, so a crowd of busy parties gets no more than one; a party that uses
 * little is not affected by their number. */
#include "base/loop/quota.h"

#include <stddef.h>

enum { NS_OF_US = 1000 };

static void add_to_list(struct aj_quotas *all, struct aj_quota *q)
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
	all->heavy -= q->heavy;
	q->heavy = false;
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

void aj_quota_waited(struct aj_quotas *all, int64_t us)
{
	all->waited_us += us;
}

/* Halve the percentage if the thread had to wait, else raise it by one: busy parties get what the processors have to spare, and
 * little more. */
static void adapt(struct aj_quotas *all, int64_t elapsed_us)
{
	unsigned percent = all->percent ? all->percent : AJ_QUOTA_PERCENT;
	if (all->waited_us > elapsed_us / AJ_QUOTA_WAITED_PART)
		percent = percent / 2 > AJ_QUOTA_LEAST_PERCENT ? percent / 2 : AJ_QUOTA_LEAST_PERCENT;
	else if (percent < AJ_QUOTA_PERCENT)
		percent++;
	all->percent = percent;
	all->waited_us = 0;
}

void aj_quota_refill(struct aj_quotas *all, int64_t now_us)
{
	int64_t elapsed_us = now_us - all->refilled_us;
	if (elapsed_us <= 0 || (all->count && elapsed_us < AJ_QUOTA_PERIOD_US / 2))
		return;
	all->refilled_us = now_us;
	adapt(all, elapsed_us);
	/* A minute refills everything. */
	int64_t percent_ns = (elapsed_us < 60000000 ? elapsed_us : 60000000) * NS_OF_US / 100;
	all->new_ns = all->new_ns > percent_ns * all->percent ? all->new_ns - percent_ns * all->percent : 0;
	if (!all->count)
		return;
	int64_t light_ns = percent_ns * all->percent / all->count;
	int64_t heavy_ns = all->heavy ? percent_ns * all->percent / all->heavy : 0;
	if (light_ns < percent_ns * AJ_QUOTA_LIGHT_PERCENT)
		light_ns = percent_ns * AJ_QUOTA_LIGHT_PERCENT;
	for (struct aj_quota *q = all->first, *next; q; q = next) {
		next = q->next;
		q->used_ns -= q->heavy ? heavy_ns : light_ns;
		if (q->used_ns > 0)
			continue;
		q->used_ns = 0;
		if (!q->throttled)
			aj_quota_leave(all, q);
	}
}

static bool may_go_on(const struct aj_quotas *all, const struct aj_quota *q, bool new)
{
	return aj_quota_due(q) && !(new && all->new_ns > (int64_t)AJ_QUOTA_NEW_US *NS_OF_US);
}

bool aj_quota_charge(struct aj_quotas *all, struct aj_quota *q, int64_t ns, int64_t now_us)
{
	if (!q->at)
		add_to_list(all, q);
	if (all->last != q)
		all->changed_us = now_us;
	all->last = q;
	q->used_ns += ns;
	bool new = !q->heavy && q->used_ns > (int64_t)AJ_QUOTA_FIRST_US *NS_OF_US;
	if (new)
		all->new_ns += ns;
	if (may_go_on(all, q, new) || q->throttled)
		return false;
	aj_quota_refill(all, now_us);
	if (!q->at || may_go_on(all, q, new) || now_us - all->changed_us > AJ_QUOTA_ALONE_US)
		return false;
	/* Other new parties have used up the rest of its advance. */
	if (aj_quota_due(q))
		q->used_ns = (int64_t)AJ_QUOTA_AHEAD_US * NS_OF_US;
	q->throttled = true;
	all->throttled++;
	all->heavy += !q->heavy;
	q->heavy = true;
	return true;
}

void aj_quota_resume(struct aj_quotas *all, struct aj_quota *q)
{
	all->throttled -= q->throttled;
	q->throttled = false;
}
