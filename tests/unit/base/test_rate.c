/* Tests of loop/rate: a bucket is full at first, is refilled by the time alone, and never holds more than its most. */
#include <criterion/criterion.h>

#include "base/loop/rate.h"

enum { START_US = 1000000, SECOND_US = 1000000 };

static unsigned take_all(struct aj_rate *rate, double per_s, unsigned most, int64_t now_us)
{
	unsigned count = 0;
	while (count < 1000 && aj_rate_take(rate, per_s, most, now_us))
		count++;
	return count;
}

Test(rate, is_full_at_first_and_refilled_by_time)
{
	struct aj_rate rate = { 0 };
	cr_expect_eq(take_all(&rate, 2, 8, START_US), 8);
	cr_expect_eq(take_all(&rate, 2, 8, START_US), 0, "no time has passed");
	cr_expect_eq(take_all(&rate, 2, 8, START_US + SECOND_US), 2);
	cr_expect_eq(take_all(&rate, 2, 8, START_US + 61 * SECOND_US), 8, "no more than the most");
}

Test(rate, counts_parts_of_a_token)
{
	struct aj_rate rate = { 0 };
	int64_t now_us = START_US;
	cr_expect_eq(take_all(&rate, 1.0 / 4, 1, now_us), 1);
	for (unsigned s = 1; s <= 3; s++)
		cr_expect_not(aj_rate_take(&rate, 1.0 / 4, 1, now_us + s * SECOND_US), "after %u s", s);
	cr_expect(aj_rate_take(&rate, 1.0 / 4, 1, now_us + 4 * SECOND_US), "a refusal costs nothing");
}
