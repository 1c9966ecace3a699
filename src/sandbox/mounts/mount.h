/* Builds the jail's file tree from the plan's rows, on fds: no path is looked up twice and none through a symlink.
 * This file decides nothing; a row that cannot be applied is an error unless the row itself says optional. */
#pragma once
#include "sandbox/mounts/built.h"

/* Open the sources of all binds as detached mounts: `fd` of each, -1 where an optional one is absent. A file or folder that gets
 * a `name` is only opened (O_PATH): an overlay of its parent will show it. */
int aj_mount_sources(struct aj_built *built, struct aj_error *err);
/* A detached mount of a file that was only opened; -1 with errno. */
int aj_mount_clone_file(int path);
/* A detached mount of a source. All mounts of this namespace are locked: the kernel clones none without the mounts below it.
 * An overlay would show what those cover: then `b` gets `refused`. -1 with errno. */
int aj_mount_clone_tree(int path, struct aj_built_mount *b);
/* The source of a bind could not be opened, and errno says why: -1 with err set. */
int aj_mount_fail_source(const char *path, struct aj_error *err);
/* Write the text of a row as the file `name`; -1 with errno. */
int aj_mount_text(const struct aj_mount *m, int parent, const char *name);
/* A fresh tmpfs as the new root, then the rows in order, and the protected places. Takes each `fd`. Returns the new root's fd. */
int aj_mount_rows(struct aj_built *built, struct aj_error *err);
/* Make `root` the root of this mount namespace, drop the old tree, seal the new root read-only. */
int aj_mount_pivot(int root, struct aj_error *err);
/* In a copy of a zygote's mounts: mount fresh scratch space over the zygote's. The root stays sealed. */
int aj_mount_own(const struct aj_plan *plan, struct aj_error *err);
