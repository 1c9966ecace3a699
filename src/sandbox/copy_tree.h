/* Copies of a jail's files, which are hostile: for the helper that furnishes a branch, so without allocation and without locks. */
#pragma once
#include <stdint.h>
#include <sys/stat.h>

enum { AJ_COPY_DEPTH = 64 }; /* folders in folders; what is deeper is an error */

/* Of a folder's list, as getdents64() gives it. */
struct aj_entry {
	uint64_t ino;
	int64_t off;
	unsigned short bytes; /* from its beginning to the next one's */
	unsigned char type;
	char name[];
};

/* Everything below one folder into another, which is empty. Links are copied and not followed, holes stay holes, other file systems
 * below it are left out; of a file with several names each becomes a file. NULL, or what failed, with errno. */
const char *aj_copy_tree(int from, int to);
/* The file at a path without links in it, opened with these flags, if it is what `st` says (or, of the same kind, in its copy).
 * `copied`: it lies in what was copied. -1: it is not. */
int aj_copy_open(const char *path, int flags, const struct stat *st, int copied);
/* A copy of what `fds`/`number` has open and no name leads to any more, in a folder; -1 with errno. */
int aj_copy_unnamed(int fds, const char *number, const char *folder, int flags);
