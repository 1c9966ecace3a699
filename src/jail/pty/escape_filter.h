/* The filter between a jail and the caller's terminal. Text, colours, cursor movement, and modes of the keyboard and mouse pass.
 * Sequences that affect more than picture, title and progress (clipboard, window, printer, replies whose text the sender chooses)
 * are dropped and counted. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/pty/modes.h"
#include "jail/pty/sequences.h"
#include "policy/policy.h"

struct aj_escape_row {
	const char *name, *why;
	bool always_shown; /* also after a run without any failure: a person may wait for the effect */
};
extern const struct aj_escape_row aj_escape_rows[AJ_ESCAPE_KINDS];

/* A sequence is passed on whole or not at all, so one that is longer is left out. */
enum { AJ_ESCAPE_MAX = 4096 };

struct aj_escape_filter {
	enum aj_escapes level;
	int state; /* of escape_filter.c */
	unsigned skip;
	unsigned bells;          /* that passed and are not made up for by time */
	int64_t bells_at_us;     /* when `bells` was right */
	bool bad;                /* the sequence under way is not passed on */
	unsigned missing, point; /* of a character of several bytes: bytes to come, and its number so far */
	size_t bytes;            /* of `sequence`: the sequence or character under way */
	char sequence[AJ_ESCAPE_MAX];
	uint64_t left_out[AJ_ESCAPE_KINDS];
	struct aj_modes modes; /* that the passed sequences have set */
};

void aj_escape_init(struct aj_escape_filter *filter, enum aj_escapes level);
/* The time by which bells are counted: AJ_ESCAPE_BELLS at once, then one each AJ_ESCAPE_BELL_US. */
enum { AJ_ESCAPE_BELLS = 16, AJ_ESCAPE_BELL_US = 250000 };
void aj_escape_time(struct aj_escape_filter *filter, int64_t now_us);
/* Copy the text and sequences of `in` that pass to `out`, which has room for bytes + AJ_ESCAPE_MAX. Returns their bytes. */
size_t aj_escape_filter(struct aj_escape_filter *filter, const char *in, size_t bytes, char *out);
