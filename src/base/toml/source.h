/* The bytes of one policy: read once, hashed, and rejected if another user could have changed the file. */
#pragma once
#include "base/sha256.h"
#include "base/toml/diag.h"
#include "base/toml/toml.h"

struct aj_source {
	const char *file;   /* as shown */
	const char *folder; /* the base of relative paths in it; NULL for a built-in policy */
	char sha256[AJ_SHA256_HEX];
	const char *text; /* the bytes, NUL-terminated */
	size_t bytes;
	struct aj_toml root;
	bool built_in;
};

/* A node of a parsed text, by numbers: pointers in it would be relocated at each start of the program */
struct aj_toml_row {
	int line, column;
	unsigned key, text; /* where they begin in `strings`; 0: none */
	unsigned text_bytes;
	unsigned children, count; /* rows from that one on */
	uint8_t kind;             /* enum aj_toml_kind */
	bool boolean;
	int64_t integer;
};

/* Policies and the site's default configuration, compiled in from policies/ and agentjail.toml. Ends with a NULL name. */
struct aj_builtin {
	const char *name;
	const char *sha256; /* of the file's bytes */
	const char *text;
	const struct aj_toml_row *rows; /* the parsed text, made at build time; the first is the root */
	const char *strings;
};
extern const struct aj_builtin aj_builtins[];
#define AJ_BUILTIN_SITE "agentjail.toml"

/* Read and parse the file at `path`. `at`: the origin of the reference, for findings; `optional`: a missing file is no finding,
 * and returns 1. The file and its folder must belong to the caller or root and be writable by no other user, and a symlink must
 * not lead out of the folder. 0, or -1 with findings. */
int aj_source_read(struct aj_source *source, const char *path, bool optional, const struct aj_origin *at, struct aj_diags *diags);
/* The absolute path of `path`, with no symlink in its folders; NULL where the file is missing. */
const char *aj_source_place(const char *path, struct aj_arena *arena);
/* The absolute path, without symlinks, of the folder that relative paths in the file start at. NULL: none, or it cannot be
 * read. */
const char *aj_source_folder(const struct aj_source *source, struct aj_arena *arena);
/* Is the file at this absolute path `folder` or below it, by any name? */
bool aj_source_within(const char *path, const char *folder, struct aj_arena *arena);
/* Parse bytes that were read from `file`. 0, or -1 with a finding. */
int aj_source_parse(struct aj_source *source, const char *file, const char *folder, const char *text, size_t bytes,
                    struct aj_diags *diags);
/* 0, or -1 for an unknown name; no finding is added. */
int aj_source_builtin(struct aj_source *source, const char *name, struct aj_arena *arena);
