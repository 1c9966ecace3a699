/* Audit records for the system's log: one datagram each, in the format of syslog or the journal.
 * These records have no hash chain, because a log has many writers; the log itself has to protect them. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

struct aj_error;

/* Does a log listen at the socket `path`? Returns -1 with err when not. */
int aj_datagram_probe(const char *path, struct aj_error *err);
/* `text` is `record` as compact ASCII JSON. `notable`: of severity NOTICE, not INFO. */
int aj_datagram_syslog(const char *path, bool notable, const char *text, struct aj_error *err);
int aj_datagram_journal(const char *path, bool notable, const json_t *record, const char *text, struct aj_error *err);
