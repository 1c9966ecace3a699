/* The copy of a workspace that a jail may change instead of the original, and a list of what was copied.
 *
 * The list is a text file, one line for each file and folder below the workspace:
 *
 *   TYPE MODE SIZE MTIME CTIME INODE PATH
 *
 * TYPE is f, d or l (a symlink); MODE is octal; times are nanoseconds since 1970; all of it as the workspace had it. PATH goes to
 * the end of the line, with `\\` for a backslash and `\n` for a newline. A folder comes before what is in it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

enum { AJ_COPY_SKIPPED_MAX = 20 };

struct aj_copied_tree {
	uint64_t files, bytes;
	AJ_LIST(const char *)
	    skipped; /* the first paths of files that were left out: FIFOs, sockets, devices, mounts, closed to the caller */
	uint64_t skipped_count;
};

struct aj_copy_job {
	int from;         /* the workspace, or another folder */
	const char *name; /* for messages; NULL: the workspace */
	int to;           /* an empty folder that gets the copy */
	int list;         /* an empty file that gets the list */
	/* Owner of the whole copy. As in an overlay, they stand for the owner of `from`: the copy has only files that this owner
	 * can read. */
	bool give;
	uid_t uid;
	gid_t gid;
	uint64_t files_max, bytes_max, time_max_ms; /* 0: the limits of this file */
	void (*progress)(const char *text);         /* called every few seconds; NULL: never */
};

/* -1 with err: then the copy is not complete. SIGINT, SIGTERM and SIGHUP end it where they are blocked and wait. */
int aj_copy_workspace(const struct aj_copy_job *job, struct aj_arena *arena, struct aj_copied_tree *ret, struct aj_error *err);
