/* The programs that git would run in one repository, and a checksum of all files that decide about them. */
#pragma once
#include <jansson.h>

#include "base/arena.h"

struct aj_repo {
	const char *path; /* of the entry that makes the folder a repository, relative to the workspace: `pkg/.git`, `bare` */
	const char *kind; /* folder, file, symlink, bare */
	char sum[65];     /* over everything that decides about `runs` */
	json_t *runs;     /* [{"by", "value"}] */
};

/* The location of a repository. */
struct aj_gitrepo_place {
	struct aj_arena *arena;
	int workspace;
	const char *path;   /* of the workspace */
	const char *folder; /* the folder that contains `.git`, relative to the workspace; NULL for a bare repository */
};

/* Fill in `sum` and `runs` (new reference) of a repository whose path and kind are set; it is the entry `name` of `dir`. */
void aj_gitrepo_read(struct aj_repo *repo, const struct aj_gitrepo_place *at, int dir, const char *name);
