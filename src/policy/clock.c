/* Reads the clock that a policy or a request chooses: real, a fixed time in UTC, or a shift.
 * It accepts one way to write a time, and asks no clock. */
#include "policy/clock.h"

#include <string.h>
#include <time.h>

#include "base/text.h"
#include "policy/item_types.h"

enum { LAST_YEAR = 2200 };
static const int64_t second_ns = INT64_C(1000000000), ms_ns = INT64_C(1000000), most_ms = 100LL * 366 * 24 * 3600 * 1000;

static bool parse_time(const char *text, int64_t *ret_ns)
{
	static const char form[] = "%Y-%m-%dT%H:%M:%SZ";
	struct tm tm = { 0 };
	char back[64];
	const char *rest = strptime(text, form, &tm);
	time_t seconds = rest && !*rest ? timegm(&tm) : -1;
	/* Printed, it must be the same text: strptime() takes a 30th of February, blanks, and numbers of fewer digits. */
	if (seconds < 0 || !gmtime_r(&seconds, &tm) || !strftime(back, sizeof back, form, &tm) || strcmp(back, text) != 0)
		return false;
	*ret_ns = (int64_t)seconds * second_ns;
	return tm.tm_year + 1900 <= LAST_YEAR;
}

bool aj_clock_parse(const char *text, struct aj_clock *ret)
{
	uint64_t ms;
	*ret = (struct aj_clock){ 0 };
	if (strcmp(text, "real") == 0)
		return true;
	ret->chosen = true;
	if (*text != '+' && *text != '-')
		return ret->fixed = parse_time(text, &ret->ns);
	if (!aj_parse_duration(text + 1, &ms) || ms > (uint64_t)most_ms)
		return false;
	ret->ns = (*text == '-' ? -1 : 1) * (int64_t)ms * ms_ns;
	return true;
}

static const char *check_clock(struct aj_arena *arena, const char *text)
{
	struct aj_clock clock;
	(void)arena;
	return aj_clock_parse(text, &clock)
	         ? NULL
	         : "neither \"real\", nor a time in UTC such as 2026-01-01T00:00:00Z, nor a shift such as +24h or -90s";
}

static bool same_clock(struct aj_arena *arena, const char *outer, const char *inner)
{
	(void)arena;
	return strcmp(outer, inner) == 0;
}

const struct aj_item_kind aj_item_clock = { "a clock", check_clock, same_clock,
	                                    "^(real|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z|"
	                                    "[+-][0-9]+(ms|s|m|h)?)$" };
