/* Replaces the Python layer's typed tags, {"__type__": "tuple", "data": [...]}, for schemas, which do not know them.
 * A tuple becomes an array and an int of 64 bits a number; no other tag is replaced. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

enum {
	AJ_VALUE_MAX_DEPTH = 128, /* of a value to be checked; the layer writes 64 levels, and a tag takes two */
	AJ_VALUE_MAX_NODES = 1 << 20,
};

/* The value with those two tags replaced, as a new reference (to the same value if it has no tags); other tags stay. NULL with a
 * reason when the value is deeper or bigger than the caps. */
json_t *aj_plain(json_t *value, const char **ret_why);
