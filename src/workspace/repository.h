/* The git repository around a folder, as git on the host finds it: git in a jail needs all of it. */
#pragma once
#include "base/arena.h"

struct aj_repository {
	const char *root; /* the folder that the jail needs as its workspace; NULL: no repository */
	const char *git;  /* the git folder if it is not below `root` (git init --separate-git-dir); else NULL */
};

/* folder: an absolute path. Paths from files `.git` are not verified. Folders and `.git` whose owner is neither the caller nor
 * that of `folder`, and other file systems, are skipped. */
struct aj_repository aj_repository_around(const char *folder, struct aj_arena *arena);
/* The git folder that `.git` in `root` is or names; NULL: none that counts. */
const char *aj_repository_git_folder(const char *root, struct aj_arena *arena);
