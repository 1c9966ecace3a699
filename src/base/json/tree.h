/* Builds the tree of a JSON text that base/json/scan.h has accepted: the same tree as jansson's parser, without a function call
 * per character. */
#pragma once
#include <stdbool.h>

#include "base/json/json.h"

/* A new reference, or NULL with the error: a duplicate name, a name with a NUL, a number out of range. `text` must have passed
 * aj_scan_end(), or be one value of such a text; for any other text the tree is undefined. */
json_t *aj_json_read(const char *text, size_t bytes, const char **ret_why);
/* The first name of an object for which `bad` has a reason: the reason, and the name in `room`, where it may be cut. NULL: there
 * is none. The same text as for aj_json_read(); the values are skipped. */
enum { AJ_BAD_NAME = 64 };
const char *aj_json_bad_name(const char *object, size_t bytes, const char *(*bad)(const char *name), char room[AJ_BAD_NAME]);
/* Does a string in the tree hold a NUL? No name in a tree does. It recurses as deep as the tree. */
bool aj_json_has_nul(const json_t *value);
/* Bytes as a string: each byte that is not UTF-8 becomes U+FFFD (new reference). */
json_t *aj_json_text(const char *text, size_t bytes);
/* Bytes as a string of base64. Aborts when out of memory. */
json_t *aj_json_base64(const void *data, size_t bytes);
