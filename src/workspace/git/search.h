/* Git repositories below a workspace, and the programs that git would run in each: searched before the jail starts and again
 * after it has ended, so that repositories that were created or changed meanwhile can be named.
 *
 * Git treats as a repository: a folder `.git`, a file `.git` that names such a folder, a symlink of that name, and any folder
 * with HEAD, objects and refs (or a commondir in place of the two). A gitlink of the index is one of these. */
#pragma once
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "workspace/git/repo.h"

/* A folder of the tree, kept for the next walk: a folder with the same inode and ctime has the same entries. */
struct aj_repos_folder {
	const char *path;    /* relative to the workspace; NULL: not visited */
	size_t was;          /* index in the previous walk; SIZE_MAX: not known */
	size_t first, count; /* its subfolders */
	ino_t ino;
	struct timespec changed; /* ctime; 0: list it again in any case */
	unsigned found;
};

struct aj_repos {
	AJ_LIST(struct aj_repo) list;
	AJ_LIST(struct aj_repos_folder) folders;
	char why[120]; /* why the walk is incomplete; "" otherwise */
};

/* Walk the tree below `workspace`, whose path is `path`, breadth first, through no symlink and for `budget_ms` at most. No
 * program is run. `before`: an earlier walk of the same tree, which must outlive this one, or NULL; unchanged folders are not
 * listed again. */
void aj_repos_look(struct aj_repos *ret, struct aj_arena *arena, int workspace, const char *path, const struct aj_repos *before,
                   uint64_t budget_ms);
/* Add a repository outside the workspace, with its data for worktrees: `dir`, whose path is `path`. */
void aj_repos_add(struct aj_repos *repos, struct aj_arena *arena, int dir, const char *path);
/* The repositories of `now` that `before` lacks or that have changed since: [{"path", "kind", "what", "runs"}] (new
 * reference). */
json_t *aj_repos_changes(const struct aj_repos *before, const struct aj_repos *now);
void aj_repos_free(struct aj_repos *repos); /* the arena is the caller's */
