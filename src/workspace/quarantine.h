/* Moves a thing of a workspace to another name in the same folder, where programs that go by its name do not find it. */
#pragma once
#include "base/arena.h"

/* Its new path, or NULL with errno. Nothing is written over, and nothing followed; `path` is relative to `workspace`. */
const char *aj_quarantine(int workspace, const char *path, struct aj_arena *arena);
