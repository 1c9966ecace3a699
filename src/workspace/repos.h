/* Git repositories below a workspace, and what each would have git run: found before a jail is there and again when it is gone, so that
 * those can be named which were made or changed meanwhile.
 *
 * What git takes for one: a folder `.git`, a file `.git` that says where the folder is, a symlink of that name, and any folder with
 * HEAD, objects and refs (or a commondir in place of the two). One that the index calls a gitlink is one of these. */
#pragma once
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "workspace/gitrepo.h"

/* A folder of the tree, for the next walk: one with the same inode and time of change has the same entries. */
struct aj_repos_folder {
	const char *path;    /* relative to the workspace; NULL: not looked into */
	size_t was;          /* where it was in the walk before; SIZE_MAX: nowhere */
	size_t first, count; /* the folders in it */
	ino_t ino;
	struct timespec changed; /* 0: to be listed again in any case */
	unsigned found;
};

struct aj_repos {
	AJ_LIST(struct aj_repo) list;
	AJ_LIST(struct aj_repos_folder) folders;
	char why[120]; /* not everything was looked at; "" otherwise */
};

/* Walk the tree below `workspace`, whose path is `path`, nearest folders first, through no symlink and for `budget_ms` at most. Nothing is
 * run. `before`: an earlier walk of the same tree, which must stay as long as this one, or NULL: what is as it was is not listed again. */
void aj_repos_look(struct aj_repos *ret, struct aj_arena *arena, int workspace, const char *path, const struct aj_repos *before,
                   uint64_t budget_ms);
/* Add a repository that lies elsewhere, and what it keeps for its worktrees: `dir`, whose path is `path`. */
void aj_repos_add(struct aj_repos *repos, struct aj_arena *arena, int dir, const char *path);
/* The repositories of `now` that were not in `before`, or not as they are: [{"path", "kind", "what", "runs"}] (new reference). */
json_t *aj_repos_changes(const struct aj_repos *before, const struct aj_repos *now);
void aj_repos_free(struct aj_repos *repos); /* the arena is the caller's */
