/* A record as lines that no log service cuts. */
#pragma once
#include <jansson.h>

enum {
	AJ_RECORD_BYTES = 7680
}; /* of a line, without what a destination adds; rsyslog cuts at 8 KiB, and counts its own header */

/* The lines of a record, an array of objects: the record itself if it is short enough; else the record without its long members and with
 * `"parts":N`, and N records `more` with these members, in the order of the record, each with a piece. They share the id. A new reference;
 * `record` stays the caller's, and loses the long members. NULL: no memory. */
json_t *aj_record_lines(json_t *record);
