/* Tests of base/quota: who is throttled, when, and what is given back; the clocks are numbers here. That the loop holds back whom it should is
 * in test_loop.c. */
#include <criterion/criterion.h>

#include "base/quota.h"

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
