/* A JSON text, checked as it arrives, in pieces of any length: syntax, UTF-8, depth, number of values. No tree is made, so a text that is only
 * passed on costs its bytes and nothing more. Of an outermost object the members' places are kept. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_SCAN_DEPTH = 200, AJ_SCAN_MEMBERS = 24 };

struct aj_span {
	size_t key, key_bytes; /* what is between the quotes, as it is written */
	size_t at, bytes;      /* the value */
	size_t values;         /* in it, itself included */
};

/* Zeroed, with a cap, is ready. */
struct aj_scan {
	size_t max_values;
	bool nul; /* \u0000 is taken, too */

	size_t at, values; /* so far */
	const char *wrong; /* NULL: nothing so far; else `at` is where */
	struct aj_span members[AJ_SCAN_MEMBERS];
	size_t members_count; /* those beyond are not kept */
	/* Its own. */
	uint64_t objects[AJ_SCAN_DEPTH / 64 + 1]; /* a bit for each level: is it an object? */
	unsigned depth;
	uint8_t state, more, low, high; /* more: bytes of a character that are still to come, the next one from low to high */
	bool key, pair, full;
	unsigned digits, code;
	const char *literal;
};

/* NULL, or what is wrong with it; nothing is read after that, so a text of too many values costs no more than one of as many as it may have. */
const char *aj_scan_feed(struct aj_scan *scan, const char *text, size_t bytes);
/* The text is over: NULL, or what is wrong with it. */
const char *aj_scan_end(struct aj_scan *scan);
/* Was that the number of its values? Then the members that came before are there, and of the last one its beginning. */
bool aj_scan_too_many(const struct aj_scan *scan);
/* How many of the first bytes are plain text: ASCII that stands for itself between quotes. */
size_t aj_scan_plain(const char *text, size_t bytes);
/* The member of that name, as `text` was; the last one where there are several, NULL when there is none. A name that is written with escapes
 * is not found. */
const struct aj_span *aj_scan_member(const struct aj_scan *scan, const char *text, const char *name);
