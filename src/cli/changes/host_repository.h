/* The repository of the host that the workspace of a run is in. */
#pragma once
#include "base/arena.h"
#include "workspace/changes/run_record.h"

struct aj_host_repository {
	const char *git, *tree; /* absolute paths of its git folder and working tree; NULL: the workspace is in none */
	const char *common;     /* the main repository's git folder, where `tree` is a linked worktree; NULL: `git` */
	const char *inside;     /* path of the workspace in `tree`, with a slash at its end; "" */
};
void aj_host_repository_find(const struct aj_change_record *record, struct aj_arena *arena, struct aj_host_repository *ret);
