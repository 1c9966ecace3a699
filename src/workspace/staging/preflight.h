/* Checks a workspace before a run whose changes are staged. */
#pragma once
#include <sys/types.h>

#include "base/arena.h"
#include "workspace/staging/copy.h"

/* Files that an overlay shows and cannot change, because their owner or group has no id in the jail: copying one up is
 * EOVERFLOW. */
struct aj_staging_unmapped {
	AJ_LIST(const char *) paths; /* the first */
	uint64_t count;
	bool more; /* not all of the workspace was looked at */
};
void aj_staging_find_unmapped(struct aj_staging_unmapped *ret, struct aj_arena *arena, int workspace, uid_t uid, gid_t gid);
/* For a person: the first paths, and the remedy. */
void aj_staging_unmapped_text(const struct aj_staging_unmapped *unmapped, uid_t uid, gid_t gid, char *out, size_t out_bytes);
void aj_staging_skipped_text(const struct aj_copied_tree *copied, const char *name, char *out, size_t out_bytes);

/* A mount point below the folder; NULL: none, or not known. */
const char *aj_staging_mount_below(struct aj_arena *arena, const char *folder);
