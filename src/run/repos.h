/* Git repositories below a workspace, and what each would have git run: found before a jail is there and again when it is gone, so that
 * those can be named which were made or changed meanwhile.
 *
 * What git takes for one: a folder `.git`, a file `.git` that says where the folder is, a symlink of that name, and any folder with
 * HEAD, objects and refs (or a commondir in place of the two). One that the index calls a gitlink is one of these. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct aj_repo {
	const char *path; /* of what makes it a repository, relative to the workspace: `pkg/.git`, `bare` */
	const char *kind; /* folder, file, symlink, bare */
	char sum[65];     /* of all that decides what it would run */
	json_t *runs;     /* [{"by", "value"}] */
};

struct aj_repos {
	AJ_LIST(struct aj_repo) list;
	char why[120]; /* not everything was looked at; "" otherwise */
};

/* Walk the tree below `workspace`, whose path is `path`, nearest folders first, through no symlink and for `budget_ms` at most. Nothing is
 * run. */
void aj_repos_look(struct aj_repos *ret, struct aj_arena *arena, int workspace, const char *path, uint64_t budget_ms);
/* The repositories of `now` that were not in `before`, or not as they are: [{"path", "kind", "what", "runs"}] (new reference). */
json_t *aj_repos_changes(const struct aj_repos *before, const struct aj_repos *now);
void aj_repos_free(struct aj_repos *repos); /* the arena is the caller's */
