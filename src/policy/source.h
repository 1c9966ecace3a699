/* The bytes of one policy: read once, hashed, and only from where nobody else could have changed them. */
#pragma once
#include "base/sha256.h"
#include "policy/diag.h"
#include "policy/toml.h"

struct aj_source {
	const char *file;   /* as shown */
	const char *folder; /* what relative paths in it start from; NULL for a built-in policy */
	char sha256[AJ_SHA256_HEX];
	const char *text; /* the bytes, with a NUL behind them */
	size_t bytes;
	struct aj_toml root;
	bool built_in;
};

/* Policies and the site's default configuration, compiled in from policies/ and agentjail.toml. Ends with a NULL name. */
struct aj_builtin {
	const char *name;
	const char *sha256; /* of the file's bytes */
	const char *text;
	const struct aj_toml *tree; /* the same, parsed when the program was built */
};
extern const struct aj_builtin aj_builtins[];
#define AJ_BUILTIN_SITE "agentjail.toml"

/* Read and parse the file at `path`. `at` is who asks, for findings; `optional`: that it does not exist is no finding, and
 * returns 1. The file and its folder must belong to us or root and be writable by nobody else, and a symlink must not lead
 * out of the folder. 0, or -1 with findings. */
int aj_source_read(struct aj_source *source, const char *path, bool optional, const struct aj_origin *at, struct aj_diags *diags);
/* The whole path of what `path` names, with no link in its folders; NULL where nothing is there. */
const char *aj_source_place(const char *path, struct aj_arena *arena);
/* Is the file at this whole path also to be found at, or below, `folder`? */
bool aj_source_within(const char *path, const char *folder, struct aj_arena *arena);
/* Bytes that were read, as the contents of `file`. 0, or -1 with a finding. */
int aj_source_parse(struct aj_source *source, const char *file, const char *folder, const char *text, size_t bytes,
                    struct aj_diags *diags);
/* 0, or -1 when there is no built-in of that name; no finding is added. */
int aj_source_builtin(struct aj_source *source, const char *name, struct aj_arena *arena);
