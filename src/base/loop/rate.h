/* A token bucket: limits how often something may happen, on average and in a burst. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct aj_rate {
	double tokens;
	int64_t filled_us; /* when the tokens were counted last; 0: never, and the bucket is full */
};

/* Take a token, of which `per_s` are added each second up to `most`. False: there is none. */
bool aj_rate_take(struct aj_rate *rate, double per_s, unsigned most, int64_t now_us);
