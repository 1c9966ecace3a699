/* Checks a JSON text as it arrives, in pieces of any length: syntax, UTF-8, depth, number of values. No tree is built, so a text
 * that is only forwarded is never copied into one. The positions of an outermost object's members are kept. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_SCAN_DEPTH = 200, AJ_SCAN_MEMBERS = 24 };

struct aj_span {
	size_t key, key_bytes; /* the name between its quotes, undecoded */
	size_t at, bytes;      /* the value */
	size_t values;         /* number of values in it, itself included */
};

/* Ready for use when zeroed, with max_values set. */
struct aj_scan {
	size_t max_values;

	size_t at, values; /* so far */
	const char *wrong; /* NULL: no error so far; else `at` is its position */
	struct aj_span members[AJ_SCAN_MEMBERS];
	size_t members_count; /* further members are not kept */
	/* Internal. */
	uint64_t objects[AJ_SCAN_DEPTH / 64 + 1]; /* one bit per level: is it an object? */
	unsigned depth;
	uint8_t state, more, low, high; /* more: bytes missing of a character, the next one between low and high */
	bool key, pair, full;
	unsigned digits, code;
	const char *literal;
};

/* NULL, or the error; no byte is read after that, so a text with too many values costs no more than one at the limit. */
const char *aj_scan_feed(struct aj_scan *scan, const char *text, size_t bytes);
/* The end of the text: NULL, or the error. */
const char *aj_scan_end(struct aj_scan *scan);
/* Was the error the number of values? Then the members before it are kept, and of the last one its beginning. */
bool aj_scan_too_many(const struct aj_scan *scan);
/* Length of the plain prefix: ASCII that needs no escape between quotes. */
size_t aj_scan_plain(const char *text, size_t bytes);
/* The member of that name in the unchanged `text`; the last one of several, or NULL. Names with escapes are not found. */
const struct aj_span *aj_scan_member(const struct aj_scan *scan, const char *text, const char *name);
