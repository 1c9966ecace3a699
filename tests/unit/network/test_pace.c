/* Tests of helper/pace: a helper rests where it waits for a processor and small amounts come beside bulk data, and nowhere else; the clocks
 * are the test's. */
#include <criterion/criterion.h>

#include "network/helper/pace.h"

/* So long at work, of which the processor was its own for `ran_us`; what it is told then. */
static int64_t work(struct aj_pace *pace, bool mixed, int64_t passed_us, int64_t ran_us)
{
	static int64_t now_us = 1000, processor_us = 1000;
	int64_t first = aj_pace_sleep_us(pace, mixed, now_us, processor_us);
	if (first)
		return first;
	now_us += passed_us;
	processor_us += ran_us;
	return aj_pace_sleep_us(pace, mixed, now_us, processor_us);
}

Test(pace, a_helper_that_gets_its_processor_never_rests)
{
	struct aj_pace pace = { 0 };
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(work(&pace, true, 600, 500), 0);
}

Test(pace, one_that_waits_rests_beside_small_amounts_alone)
{
	struct aj_pace pace = { 0 };
	cr_expect_eq(work(&pace, false, 600, 100), 0, "bulk data is all that comes");
	cr_expect_gt(work(&pace, true, 600, 500), 0, "and it is remembered that others wait for processors");
	cr_expect_eq(work(&pace, true, 100, 100), 0, "but it works for a while between two rests");
	cr_expect_gt(work(&pace, true, 600, 600), 0);
	cr_expect_eq(work(&pace, true, 2000000, 1900000), 0, "until it has had its processor for a second");
}

/* A turn that waits for events, however long, is no wait for a processor. */
Test(pace, time_asleep_does_not_count)
{
	struct aj_pace pace = { 0 };
	struct aj_bulk bulk = { 0 };
	cr_expect_eq(work(&pace, true, 600, 500), 0);
	cr_expect_eq(aj_pace_until_us(&pace, &bulk, 77), 77, "no bulk data: as long as there is nothing to do");
	cr_expect_eq(aj_pace_sleep_us(&pace, true, 50000000, 2000), 0);
	cr_expect_eq(pace.crowded_until_us, 0);
}

Test(pace, a_rest_ends_where_something_is_due)
{
	struct aj_flow flow = { 0 };
	struct aj_bulk bulk = { .first = &flow, .short_turns = 1 };
	struct aj_pace pace = { .began_us = 1, .crowded_until_us = INT64_MAX };
	cr_expect_eq(aj_pace_until_us(&pace, &bulk, 5), 5);
	cr_expect_eq(pace.began_us, 0);
	pace.began_us = 1;
	int64_t until_us = aj_pace_until_us(&pace, &bulk, INT64_MAX);
	cr_expect(until_us > 0 && until_us < INT64_MAX);
	bulk.short_turns = 0;
	pace.began_us = 1;
	cr_expect_eq(aj_pace_until_us(&pace, &bulk, INT64_MAX), 0);
}
