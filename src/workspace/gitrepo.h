/* What one repository would have git run, and a sum of all that decides about it. */
#pragma once
#include <jansson.h>

#include "base/arena.h"

struct aj_repo {
	const char *path; /* of what makes it a repository, relative to the workspace: `pkg/.git`, `bare` */
	const char *kind; /* folder, file, symlink, bare */
	char sum[65];     /* of all that decides what it would run */
	json_t *runs;     /* [{"by", "value"}] */
};

/* Where it lies. */
struct aj_gitrepo_place {
	struct aj_arena *arena;
	int workspace;
	const char *path;   /* of the workspace */
	const char *folder; /* the one around a `.git`, relative to the workspace; NULL for a bare repository */
};

/* Fill in `sum` and `runs` (new reference) of a repo that has its path and kind; it is `name` in `dir`. */
void aj_gitrepo_read(struct aj_repo *repo, const struct aj_gitrepo_place *at, int dir, const char *name);
