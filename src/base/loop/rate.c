/* The arithmetic of a token bucket.
 * It reads no clock, and counts no event that was refused. */
#include "base/loop/rate.h"

bool aj_rate_take(struct aj_rate *rate, double per_s, unsigned most, int64_t now_us)
{
	if (rate->filled_us == 0)
		rate->tokens = most;
	else
		rate->tokens += (double)(now_us - rate->filled_us) * per_s / 1e6;
	if (rate->tokens > most)
		rate->tokens = most;
	rate->filled_us = now_us;
	if (rate->tokens < 1)
		return false;
	rate->tokens--;
	return true;
}
