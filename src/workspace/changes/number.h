/* Parses numbers of lines that are separated by blanks, strictly: digits and one blank, a sign only on request, no overflow. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The number at `*at` and the blank behind it, which `*at` is moved over. `end`: of the text. */
static inline bool aj_take_number(const char **at, const char *end, unsigned base, uint64_t max, uint64_t *ret)
{
	const char *c = *at;
	uint64_t number = 0;
	for (; c < end && *c >= '0' && *c < (char)('0' + base); c++) {
		uint64_t digit = (uint64_t)(*c - '0');
		if (digit > max || number > (max - digit) / base)
			return false;
		number = number * base + digit;
	}
	if (c == *at || c == end || *c != ' ')
		return false;
	*at = c + 1;
	*ret = number;
	return true;
}

static inline bool aj_take_signed(const char **at, const char *end, int64_t *ret)
{
	uint64_t number;
	bool minus = *at < end && **at == '-';
	*at += minus;
	if (!aj_take_number(at, end, 10, INT64_MAX, &number))
		return false;
	*ret = minus ? -(int64_t)number : (int64_t)number;
	return true;
}
