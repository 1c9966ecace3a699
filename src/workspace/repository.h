/* The git repository around a folder, as git finds it on the host: git works in a jail only where the jail has all of it. */
#pragma once
#include "base/arena.h"

struct aj_repository {
	const char *root; /* the folder that a jail needs as its workspace; NULL: there is no repository */
	const char *git; /* the repository's own folder, where it does not lie below `root` (git init --separate-git-dir); else NULL */
};

/* `folder` is an absolute path. Names what the files `.git` say, which may be wrong. A folder or a `.git` of another owner than the caller
 * or `folder` has is passed over, as is what lies on another file system. */
struct aj_repository aj_repository_around(const char *folder, struct aj_arena *arena);
