/* Audit records to the system's log: one datagram each, in syslog's or the journal's own form.
 * There is no chain in them: many writers share a log, and it is the log that has to keep them. */
#pragma once
#include <jansson.h>

struct aj_error;

/* Is somebody listening at the socket `path`? -1 with err when not. */
int aj_datagram_probe(const char *path, struct aj_error *err);
/* `text` is `record` as compact ASCII JSON. */
int aj_datagram_syslog(const char *path, const json_t *record, const char *text, struct aj_error *err);
int aj_datagram_journal(const char *path, const json_t *record, const char *text, struct aj_error *err);
