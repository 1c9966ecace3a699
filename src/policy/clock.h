/* The clock that a policy or a request chooses for Python code. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct aj_clock {
	bool chosen; /* else the real one */
	bool fixed;  /* ns is the time since 1970; else what is added to the real time */
	int64_t ns;
};

/* "real", a time such as 2026-01-01T00:00:00Z, or a shift such as +24h or -90s. */
bool aj_clock_parse(const char *text, struct aj_clock *ret);
