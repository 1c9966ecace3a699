/* Collects the files that a jail has left in /output: name, size, SHA-256, and their bytes on request. The walk is cut into
 * turns, follows no link, and limits entries, depth, files and bytes. */
#pragma once
#include <jansson.h>
#include <stdint.h>
#include <time.h>

#include "jail/files/scratch.h"

/* Of the bytes that come back as base64, whatever the policy says: results are held in memory, and sent as a whole. */
enum { AJ_COLLECT_DATA_BYTES = 16 << 20 };

/* The caller's wishes for the files. */
struct aj_collect_how {
	uint64_t bytes_max, files_max; /* of all files */
	bool data;                     /* their bytes as base64 */
	int to;                        /* a folder of the host that gets copies, never in the place of another file; 0: none */
	const char *const *protect;    /* places of filesystem.protect, of which no copy is made */
	size_t protect_count;
	struct timespec since; /* only files with a later ctime, which no program can set; 0: all */
};

/* For the result. */
struct aj_collected {
	json_t *files; /* array of {"name", "size", "media_type", "sha256"[, "obeyed"][, "data"]}, by name; NULL: not requested */
	json_t *skipped; /* array of {"name", "why"}, the first ones; NULL: nothing was left out */
};
void aj_collected_free(struct aj_collected *collected);

/* The walk has a descriptor of its own: the scratch space's may be closed. Aborts when out of memory. */
struct aj_collect *aj_collect_begin(const struct aj_scratch *scratch, const struct aj_collect_how *how);
/* Walk on until `until_us`; true: everything is collected. */
bool aj_collect_turn(struct aj_collect *collect, int64_t until_us);
/* Give the collected files to the caller, and free the walk. */
void aj_collect_end(struct aj_collect *collect, struct aj_collected *ret);
/* Give up. Accepts NULL. */
void aj_collect_free(struct aj_collect *collect);
