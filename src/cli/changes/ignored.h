/* Which changes git of the host would ignore: by the rules that the host has, never by those that a run has changed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "cli/changes/host_repository.h"

/* Ask git for `count` paths of the workspace, where one of a folder ends with a slash. ret[i] becomes the rule that ignores the
 * path (in `arena`), or NULL: none, or git did not say. */
void aj_ignored(const struct aj_host_repository *repository, const char *const *paths, size_t count, const char **ret,
                struct aj_arena *arena);
