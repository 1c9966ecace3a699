/* Renames a file or folder of a workspace within its parent folder: programs that look for the old name do not find it. */
#pragma once
#include "base/arena.h"

/* Returns the new path, or NULL with errno. Overwrites nothing and follows no symlink; `path` is relative to `workspace`. */
const char *aj_quarantine(int workspace, const char *path, struct aj_arena *arena);
