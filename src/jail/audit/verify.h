/* Verifies that every record of an audit file is present, in its place and unchanged. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "jail/audit/chain.h"

enum aj_verify_kind {
	AJ_VERIFY_WHOLE,
	AJ_VERIFY_CHANGED,   /* a line was changed */
	AJ_VERIFY_MISSING,   /* lines were removed */
	AJ_VERIFY_INSERTED,  /* a line was inserted or doubled */
	AJ_VERIFY_REORDERED, /* a line was moved down */
	AJ_VERIFY_CUT,       /* the end is missing */
};
const char *aj_verify_kind_name(enum aj_verify_kind kind);

/* A run with a start record and no end record. */
struct aj_verify_run {
	uint64_t key;
	char id[96]; /* truncated; `key` is the hash of the whole id */
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
	bool more_open;                     /* there are more than the list holds */
};

/* Verify `path` as it is now, in bounded memory. `noted_head`: a hash that one of the records must have, or NULL.
 * Returns -1 with err when the file cannot be read; a problem in it is a result. */
int aj_verify(const char *path, const char *noted_head, struct aj_arena *arena, struct aj_verify *ret, struct aj_error *err);
