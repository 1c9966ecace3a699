/* The Python layer's typed tags, {"__type__": "tuple", "data": [...]}, and schemas, which know nothing of them.
 * A tuple is an array and an int of 64 bits a number; no other tag is taken for a JSON value that it is not. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

enum {
	AJ_VALUE_MAX_DEPTH = 128, /* of a value that meets a schema; the layer writes 64 levels, and a tag is two */
	AJ_VALUE_MAX_NODES = 1 << 20,
};

/* The value with those two tags replaced, as a new reference (to itself, if it has none); every other tag stays. NULL with a
 * reason when it is deeper or bigger than the caps. */
json_t *aj_plain(json_t *value, const char **ret_why);
