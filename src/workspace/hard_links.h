/* Files in a folder that have another name, by which they can be changed although the folder is held. */
#pragma once
#include <sys/stat.h>

#include "base/arena.h"

/* Calls `found` for each regular file below `dir`, whose path is `path`, that has more than one name. `*left` entries are looked at, which it
 * counts down, and no symlink is followed. */
void aj_hard_links_each(int dir, const char *path, struct aj_arena *arena, size_t *left,
                        void (*found)(void *arg, const char *path, const struct stat *st), void *arg);
