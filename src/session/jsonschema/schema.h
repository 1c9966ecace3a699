/* A subset of JSON Schema 2020-12, whose keywords are listed in session/jsonschema/keywords.c and docs/reference/tools.md.
 * A schema with any other keyword is refused when it is declared; a value that takes too long to check does not match. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum {
	AJ_SCHEMA_MAX_BYTES = 64 << 10, /* of a schema as compact JSON */
	AJ_SCHEMA_MAX_VALUES = 8192,    /* objects, arrays, strings ... in a schema */
	AJ_SCHEMA_MAX_DEPTH = 64,       /* of a schema as JSON */
	AJ_SCHEMA_MAX_DEFS = 256,
	AJ_SCHEMA_MAX_CHAIN = 32, /* schemas that check the same value, each reached from the one before ($ref, anyOf, ...) */
	AJ_SCHEMA_MAX_STEPS = 1000000, /* of one check: about one for each pair of a value and a keyword */
	AJ_SCHEMA_WHY_BYTES = 400,     /* enough for every reason */
};

struct aj_schema;

/* Returns NULL with a reason that starts with the JSON pointer of the refused part: "/properties/a/pattern: ...".
 * The schema lives in `arena`, and `json` must outlive it, unchanged. */
const struct aj_schema *aj_schema_compile(struct aj_arena *arena, const json_t *json, char *ret_why, size_t why_bytes);

/* Returns false with a reason that starts with the JSON pointer of the misfit: "/items/3/price: expected number, got string". The
 * pointer to the whole value is empty. No tag is decoded: an object with a string "__type__" is none of the seven types
 * (session/jsonschema/plain.h). The reason is UTF-8 without control characters; it has keys of the value, but none of its other
 * text. */
bool aj_schema_check(const struct aj_schema *schema, const json_t *value, char *ret_why, size_t why_bytes);

/* The schema of a key in this schema's `properties`; NULL: there is none. It lives as long as this schema. */
const struct aj_schema *aj_schema_property(const struct aj_schema *schema, const char *key);
