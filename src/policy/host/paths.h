/* Finds the files of the program or the library. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

/* Fill *rootfs with the Python tree `name`: the one that is there already, else in the site's folder `path` ("" for none), else
 * $AGENTJAIL_ROOTFS (for the tree `default`), else beside the program (build tree), else installed. */
int aj_find_rootfs(const char **rootfs, const char *name, const char *path, struct aj_arena *arena, struct aj_error *err);

/* Called by the library: its file is in this folder, and no file beside the calling program belongs to agentjail. */
void aj_paths_library(const char *folder);

/* The folder that $AGENTJAIL_ROOTFS names, or NULL: it counts as --rootfs where a policy is loaded. */
const char *aj_rootfs_variable(void);

/* The running program's file; in a library its folder. NULL when /proc is not available. */
const char *aj_own_path(struct aj_arena *arena);

/* Path of a helper program of agentjail, NULL when it is missing. */
const char *aj_find_helper(const char *name, struct aj_arena *arena);
