/* The audit trail's destinations: checks that one can be written to, and writes a record, whole or not at all.
 * jail/audit/record.h composes records, jail/audit/chain.h chains lines. */
#pragma once
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

enum aj_audit_kind {
	AJ_AUDIT_NONE, /* there is no trail: writing has no effect */
	AJ_AUDIT_FILE,
	AJ_AUDIT_SYSLOG,
	AJ_AUDIT_JOURNAL,
};

/* No descriptor: a jail's init would inherit it. Each write opens the file, so rotation needs no signal. */
struct aj_audit {
	enum aj_audit_kind kind;
	char path[PATH_MAX]; /* of the file or the socket */
};

/* Check the syntax of a destination alone: `file:/absolute/path`, `syslog` or `journal`. */
int aj_audit_parse(struct aj_audit *audit, const char *destination, struct aj_error *err);

/* The same, and check that writing will work: a trail that cannot be written must stop a run before it starts.
 * Creates the file with mode 0600 if needed. */
int aj_audit_open(struct aj_audit *audit, const char *destination, struct aj_error *err);
/* The second half of aj_audit_open(), for a parsed destination. Tests set ->path to a socket of their own. */
int aj_audit_ready(const struct aj_audit *audit, struct aj_error *err);

/* Check whether runs of this user can be recorded at `destination` ("none" succeeds). Creates no file. 0, or -1 with err. */
int aj_audit_probe(const char *destination, struct aj_error *err);

/* Append `record`, an object without seq, prev and hash; the caller keeps its reference. `notable`: a log shows that the status
 * is not AJ_STATUS_OK. 0: the record is on disk or sent to the log; -1 with err: the file is unchanged. (If fdatasync() fails
 * after the append, the record stays, as the error says: other writers may have appended after it.) */
int aj_audit_write(const struct aj_audit *audit, bool notable, json_t *record, struct aj_error *err);

/* Would a jail see the trail if `source` (a real path) were bound into it? The jail could then read other runs' records, or write
 * records itself. Paths and inodes are compared; a second mount of the trail's folder deep inside `source` is not found. */
bool aj_audit_visible(const struct aj_audit *audit, const char *source);
