/* The tree of a JSON text that base/json_scan has taken: what jansson's reader makes of it, without a call for each character. */
#pragma once
#include "base/json.h"

/* A new reference, or NULL with what is wrong: a name that is there twice or holds a NUL, a number that is out of range. `text` must have passed
 * aj_scan_end(), or be one value of such a text; of any other the tree is anybody's guess. */
json_t *aj_json_read(const char *text, size_t bytes, const char **ret_why);
