/* Files in a protected folder that have a second hard link, through which they can be changed. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "base/arena.h"

/* Calls `found` for each regular file below `dir`, whose path is `path`, that has more than one link. At most `*left` entries are
 * visited, which the function counts down; no symlink is followed. False: an error ended the list of a folder. */
bool aj_hard_links_each(int dir, const char *path, struct aj_arena *arena, size_t *left,
                        void (*found)(void *arg, const char *path, const struct stat *st), void *arg);
