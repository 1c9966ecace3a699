/* Copies of a jail's files, which are hostile, for the helper that prepares a branch: without allocation and without locks. */
#pragma once
#include <sys/stat.h>

enum { AJ_COPY_DEPTH = 64 }; /* depth of nested folders; deeper trees are an error */

/* Copy everything below one folder into another, which is empty. Symlinks are not followed, holes stay holes, other file systems
 * below `from` are skipped; each hard link becomes a file of its own. NULL, or the operation that failed, with errno. */
const char *aj_copy_tree(int from, int to);
/* Open the file at a path without symlinks, with these flags, if it is the file that `st` describes. `copied`: the path is in the
 * copied tree, where the copy must have the same type. -1: it is another file. */
int aj_copy_open(const char *path, int flags, const struct stat *st, int copied);
/* Copy an unlinked file, open as `fds`/`number`, into a folder; -1 with errno. */
int aj_copy_unnamed(int fds, const char *number, const char *folder, int flags);
