/* The audit trail's destinations: is one fit to be written to, and one record to it, whole or not at all.
 * What a record says is audit/record.h's, how lines are chained audit/chain.h's. */
#pragma once
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

enum aj_audit_kind {
	AJ_AUDIT_NONE, /* nobody asked for a trail: writing does nothing */
	AJ_AUDIT_FILE,
	AJ_AUDIT_SYSLOG,
	AJ_AUDIT_JOURNAL,
};

/* It holds nothing open: a jail's init would inherit it, and a file that was rotated meanwhile is found again by its name. */
struct aj_audit {
	enum aj_audit_kind kind;
	char path[PATH_MAX]; /* of the file or the socket */
};

/* The form of a destination alone, without a look at the host: `file:/absolute/path`, `syslog` or `journal`. */
int aj_audit_parse(struct aj_audit *audit, const char *destination, struct aj_error *err);

/* The same, and find out now whether writing will work: a trail that cannot be written must stop a run before it starts.
 * Makes the file (0600) when it is not there. */
int aj_audit_open(struct aj_audit *audit, const char *destination, struct aj_error *err);
/* The second half of it, for an audit that was parsed. Tests put a socket of their own into ->path before. */
int aj_audit_ready(const struct aj_audit *audit, struct aj_error *err);

/* Append `record` (an object without seq, prev and hash; the reference stays the caller's). 0 when it is on disk, or with the
 * log; -1 with err when it is not, and then the file is as it was. (Should the disk fail after the append, the record is in the
 * file as far as anybody can see, and the error says so: others may have gone on after it.) */
int aj_audit_write(const struct aj_audit *audit, json_t *record, struct aj_error *err);

/* Would a jail see the trail if `source` (a real path) were bound into it? It could read other runs' records then, or write its
 * own. Paths and inodes are compared; a second mount of the trail's folder deep inside `source` is not found. */
bool aj_audit_visible(const struct aj_audit *audit, const char *source);
