/* The end of a fuzz run that broke a rule: the rule on standard error, then abort(), which the fuzzer reports with its input. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* `detail`: a name, say, with which the rule is broken; "": none. */
static inline void must_of(bool holds, const char *rule, const char *detail)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s%s%s\n", rule, *detail ? ": " : "", detail);
	abort();
}

static inline void must(bool holds, const char *rule)
{
	must_of(holds, rule, "");
}
