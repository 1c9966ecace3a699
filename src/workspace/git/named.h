/* Places of a workspace that the host's git reads as configuration or runs although they are outside of any repository's own
 * folder: through core.hooksPath, included files, commands of a configuration, and hooks that are links. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct aj_git_named {
	struct aj_arena *arena;
	const char *workspace;        /* an absolute path through no link */
	AJ_LIST(const char *) places; /* relative to it */
	AJ_LIST(const char *)
	    anywhere; /* the same, below whichever folder: a relative core.hooksPath counts from each repository */
	bool all;     /* hooks are in the top folder of each repository */
	bool cut;     /* a limit was reached: there may be more places */
	size_t files; /* that were read */
};

/* The configuration of the caller and of the system, and that of the repository that `entry` of the folder `top` is: `.git`, or
 * `.` for a bare one; NULL: not a repository. `top` is an absolute path. Links are followed. */
void aj_git_named_add(struct aj_git_named *named, const char *top, const char *entry);
/* The place that `path`, an absolute one, leads to, and `path` itself. */
void aj_git_named_place(struct aj_git_named *named, const char *path);
