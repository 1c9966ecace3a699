/* Looking at files of a workspace, which a jail may have made: beneath a descriptor, through no symlink, and never for long. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Open `path`, relative to `dir` or, with AT_FDCWD, any path, through no symlink. O_CLOEXEC and O_NONBLOCK are added. */
int aj_beneath_open(int dir, const char *path, int flags);
/* Is there anything of this name? */
bool aj_beneath_has(int dir, const char *name);
/* Is the folder this user's? Then it may be closed now and open in a moment. */
bool aj_beneath_owned(int dir, uid_t uid);
/* Is it on a file system of which it is known that a folder has one link for each folder in it besides its two, and a new time of change with
 * each change of its entries? `*ret_dev`: that file system. */
bool aj_beneath_tells_changes(int dir, dev_t *ret_dev);
