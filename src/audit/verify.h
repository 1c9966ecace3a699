/* An audit file read from end to end: is every record there, in its place and as it was written? */
#pragma once
#include "audit/chain.h"
#include "base/arena.h"
#include "base/error.h"

enum aj_verify_kind {
	AJ_VERIFY_WHOLE,
	AJ_VERIFY_CHANGED,   /* a line is not what was written */
	AJ_VERIFY_MISSING,   /* lines were taken out */
	AJ_VERIFY_INSERTED,  /* a line was put in, or is there twice */
	AJ_VERIFY_REORDERED, /* a line stands later than it was written */
	AJ_VERIFY_CUT,       /* the end is gone */
};
const char *aj_verify_kind_name(enum aj_verify_kind kind);

/* A start without its end. */
struct aj_verify_run {
	uint64_t key;
	char id[96]; /* cut when it is longer; the key is of all of it */
};

struct aj_verify {
	enum aj_verify_kind kind;
	uint64_t line; /* the first problem's, from 1 */
	char why[300];
	/* WHOLE: */
	uint64_t records, starts;
	char first_time[40], last_time[40]; /* empty without records */
	char head[AJ_SHA256_HEX];           /* hash of the last record */
	AJ_LIST(struct aj_verify_run) open; /* the jail still runs, or its supervisor was killed */
	bool more_open;                     /* and others that were not kept */
};

/* Read `path` as it is now, however large, in bounded memory. `noted_head`: a hash that must be one of the records', or NULL.
 * -1 with err when it cannot be read; a problem in it is a result. */
int aj_verify(const char *path, const char *noted_head, struct aj_arena *arena, struct aj_verify *ret, struct aj_error *err);
