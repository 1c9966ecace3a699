/* Tests of loop/quota: who is throttled, when, and what is given back; the clocks are numbers here. That the loop holds back whom it should is
 * in test_loop.c. */
#include <criterion/criterion.h>

#include "base/loop/quota.h"

enum { MS = 1000, AHEAD_MS = AJ_QUOTA_AHEAD_US / MS };
static struct aj_quotas all;
static struct aj_quota busy[4], quiet;

static int64_t ns(int64_t ms)
{
	return ms * 1000000;
}

Test(quota, whoever_uses_up_what_he_had_is_throttled)
{
	cr_expect_not(aj_quota_charge(&all, &quiet, 1000, 0));
	cr_expect_not(aj_quota_charge(&all, &busy[0], ns(AHEAD_MS) - 1, 0));
	cr_expect(aj_quota_charge(&all, &busy[0], 1, 0));
	cr_expect(busy[0].throttled);
	cr_expect_not(quiet.throttled);
	cr_expect_not(aj_quota_charge(&all, &busy[0], 1, 0), "once");
	cr_expect_eq(all.throttled, 1u);
}

Test(quota, whoever_is_alone_is_not)
{
	int64_t now_us = 0;
	aj_quota_charge(&all, &busy[0], 1, now_us);
	for (now_us = AJ_QUOTA_ALONE_US + 1; now_us < 10 * AJ_QUOTA_ALONE_US; now_us += 100 * MS)
		cr_expect_not(aj_quota_charge(&all, &busy[0], ns(100), now_us));
	cr_expect_not(aj_quota_charge(&all, &quiet, 1000, now_us));
	cr_expect(aj_quota_charge(&all, &busy[0], ns(2 * AHEAD_MS), now_us), "until there is another");
}

Test(quota, it_goes_on_when_it_has_something_again)
{
	aj_quota_charge(&all, &quiet, 1000, 0);
	cr_expect(aj_quota_charge(&all, &busy[0], ns(2 * AHEAD_MS), 0));
	aj_quota_refill(&all, 1);
	cr_expect_not(aj_quota_due(&busy[0]));
	aj_quota_refill(&all, AHEAD_MS * MS * 100 / AJ_QUOTA_PERCENT * 2 + 100);
	cr_expect(aj_quota_due(&busy[0]));
	cr_expect(busy[0].throttled, "the loop says when");
	aj_quota_resume(&all, &busy[0]);
	cr_expect_eq(all.throttled, 0u);
	cr_expect_eq(all.count, 1u, "the quiet one has everything back, and is not among them any more");
	cr_expect_null(quiet.at);
}

/* However many there are, all of them together get no more than their part: over a long time, with turns that are always taken. */
Test(quota, a_crowd_gets_no_more_than_one)
{
	int64_t used_ns = 0, turn_ns = 100000;
	enum { SECONDS = 10 };
	for (int64_t now_us = 0; now_us < SECONDS * INT64_C(1000000); now_us += AJ_QUOTA_PERIOD_US) {
		aj_quota_refill(&all, now_us);
		for (int i = 0; i < 4; i++) {
			if (busy[i].throttled && aj_quota_due(&busy[i]))
				aj_quota_resume(&all, &busy[i]);
			for (int64_t n = 0; !busy[i].throttled && n < AJ_QUOTA_PERIOD_US * 1000; n += turn_ns, used_ns += turn_ns)
				aj_quota_charge(&all, &busy[i], turn_ns, now_us);
		}
	}
	int64_t part_ns = SECONDS * INT64_C(1000000000) / 100 * AJ_QUOTA_PERCENT;
	cr_expect_leq(used_ns, part_ns + 4 * (AJ_QUOTA_AHEAD_US * INT64_C(1000) + AJ_QUOTA_PERIOD_US * INT64_C(1000)));
	cr_expect_geq(used_ns, part_ns / 2, "and they are not shut out");
}

Test(quota, whoever_leaves_is_not_counted)
{
	aj_quota_charge(&all, &quiet, 1000, 0);
	aj_quota_charge(&all, &busy[0], ns(AHEAD_MS), 0);
	aj_quota_charge(&all, &busy[1], ns(AHEAD_MS), 0);
	cr_expect_eq(all.count, 3u);
	cr_expect_eq(all.throttled, 2u);
	aj_quota_leave(&all, &busy[0]);
	aj_quota_leave(&all, &quiet);
	aj_quota_leave(&all, &quiet);
	cr_expect_eq(all.count, 1u);
	cr_expect_eq(all.throttled, 1u);
	cr_expect_eq(all.first, &busy[1]);
}

/* Each turn of all: refill, resume, then each uses what it may of `turn_ns`. */
static int64_t step(struct aj_quota *party, int64_t turn_ns, int64_t now_us)
{
	if (party->throttled && aj_quota_due(party))
		aj_quota_resume(&all, party);
	if (party->throttled)
		return 0;
	aj_quota_charge(&all, party, turn_ns, now_us);
	return turn_ns;
}

/* One per cent of the thread, beside thirty that take all they get. */
Test(quota, whoever_uses_little_is_not_one_of_the_crowd)
{
	static struct aj_quota crowd[30];
	unsigned refused = 0;
	for (int64_t now_us = 0; now_us < 10000000; now_us += AJ_QUOTA_PERIOD_US) {
		aj_quota_refill(&all, now_us);
		for (int i = 0; i < 30; i++)
			step(&crowd[i], 300000, now_us);
		refused += step(&quiet, AJ_QUOTA_PERIOD_US * 10, now_us) == 0;
		aj_quota_waited(&all, AJ_QUOTA_PERIOD_US / 2);
	}
	cr_expect_eq(refused, 0u);
	cr_expect_eq(all.percent, (unsigned)AJ_QUOTA_LEAST_PERCENT, "the thread waited all the time");
}

Test(quota, less_is_given_back_while_the_thread_waits_for_a_processor)
{
	int64_t now_us = 0;
	aj_quota_charge(&all, &quiet, 1000, now_us);
	aj_quota_charge(&all, &busy[0], ns(100), now_us += AJ_QUOTA_PERIOD_US);
	cr_expect(busy[0].throttled);
	unsigned before = all.percent;
	cr_expect_eq(before, (unsigned)AJ_QUOTA_PERCENT);
	for (int i = 0; i < 3; i++) {
		aj_quota_waited(&all, AJ_QUOTA_PERIOD_US);
		aj_quota_refill(&all, now_us += AJ_QUOTA_PERIOD_US);
	}
	cr_expect_eq(all.percent, (unsigned)AJ_QUOTA_LEAST_PERCENT);
	int64_t had_ns = busy[0].used_ns;
	aj_quota_refill(&all, now_us += AJ_QUOTA_PERIOD_US);
	cr_expect_eq(had_ns - busy[0].used_ns, AJ_QUOTA_PERIOD_US * INT64_C(10) * (AJ_QUOTA_LEAST_PERCENT + 1),
	             "and more again, bit by bit");
	for (int i = 0; i < AJ_QUOTA_PERCENT; i++)
		aj_quota_refill(&all, now_us += AJ_QUOTA_PERIOD_US);
	cr_expect_eq(all.percent, (unsigned)AJ_QUOTA_PERCENT);
}

/* Parties that use less than they have in advance, go, and come as another: what one alone may do a crowd may not. */
Test(quota, whoever_comes_again_and_again_has_no_more_in_advance)
{
	enum { COMERS = 1000, USE_NS = AJ_QUOTA_AHEAD_US * 1000 - 100000 };
	static struct aj_quota comers[COMERS];
	unsigned throttled = 0;
	int64_t used_ns = 0, now_us = 0;
	aj_quota_charge(&all, &comers[0], USE_NS, now_us);
	cr_expect_not(comers[0].throttled);
	for (int i = 1; i < COMERS; i++, now_us += 4000) {
		for (int64_t n = 0; n < USE_NS && !comers[i].throttled; n += 100000, used_ns += 100000)
			aj_quota_charge(&all, &comers[i], 100000, now_us);
		throttled += comers[i].throttled;
		aj_quota_leave(&all, &comers[i]);
	}
	cr_expect_gt(throttled, COMERS / 2);
	cr_expect_lt(used_ns, now_us * 1000 / 100 * 75,
	             "that part of the time, each one's first half a millisecond, and what it gets back");
}
