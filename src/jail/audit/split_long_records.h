/* Audit records as lines that log services do not truncate. */
#pragma once
#include <jansson.h>

enum { AJ_RECORD_BYTES = 7680 }; /* per line, without the destination's header; rsyslog truncates at 8 KiB with its header */

/* The lines of a record, as an array of objects: the record if it is short enough; else the record without its long members and
 * with `"parts":N`, then N records `more` with the pieces of these members. Returns a new reference, or NULL if out of memory.
 * The caller keeps `record`, without the long members. */
json_t *aj_record_lines(json_t *record);
