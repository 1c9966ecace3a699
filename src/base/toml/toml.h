/* TOML text as a tree of plain C nodes with positions, parsed by toml++, which no other file uses.
 * No keys are defined here: the caller decides which are valid. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum aj_toml_kind {
	AJ_TOML_STRING,
	AJ_TOML_INTEGER,
	AJ_TOML_FLOAT,
	AJ_TOML_BOOL,
	AJ_TOML_DATE, /* a date, a time, or both */
	AJ_TOML_ARRAY,
	AJ_TOML_TABLE,
};

struct aj_toml {
	enum aj_toml_kind kind;
	int line, column; /* from 1, in characters: of the key in a table, of the value in an array */
	int value_line, value_column;
	const char *key;   /* without NULs; NULL in an array and at the root */
	const char *text;  /* STRING: a NUL-terminated copy, which may contain further NULs */
	size_t text_bytes; /* so strlen(text) can be less */
	int64_t integer;
	bool boolean;
	struct aj_toml *children; /* ARRAY: in order; TABLE: in the order in which the keys are first mentioned */
	size_t count;
};

struct aj_toml_error {
	int line, column;  /* from 1 */
	char message[300]; /* one printable sentence without a full stop */
};

enum {
	AJ_TOML_MAX_BYTES = 256 << 10,
	AJ_TOML_MAX_PARTS = 16,           /* components of one dotted key or table header */
	AJ_TOML_MAX_ALL_PARTS = 16 << 10, /* components of all keys: toml++'s time is quadratic in them */
	AJ_TOML_MAX_DEPTH = 32,           /* of the tree, and of nested values */
};

/* 0, or -1 with `err` filled and `root` untouched. Everything in `root` lives in `arena`. */
int aj_toml_parse(struct aj_toml *root, struct aj_arena *arena, const char *text, size_t bytes, struct aj_toml_error *err);

/* "a string", "an integer", ... */
const char *aj_toml_kind_name(enum aj_toml_kind kind);
