/* A workspace that is a linked worktree (git-worktree(1)): its `.git` is a file that names a folder of the main repository,
 * without which git does not work in the workspace. */
#pragma once
#include "policy/load/load.h"
#include "policy/plan/request.h"

struct aj_error;

/* Where the policy allows it (filesystem.worktree), find the main repository of request->workspace and set
 * request->main_repository. The repository must name the workspace in turn, and be where a workspace may be; if not, "apart" sets
 * request->worktree_unseen, and "shared" fails. A workspace that is not a linked worktree is left alone. 0, or -1 with err. */
int aj_worktree_find(struct aj_request *request, const struct aj_loaded *loaded, const struct aj_site *site,
                     struct aj_arena *arena, struct aj_error *err);

/* The main repository that the `.git` file of request->workspace names, where the policy does not show it and git therefore finds
 * no repository in the jail. A claim of that file, for a message alone. NULL: there is none. */
const char *aj_worktree_unseen(const struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena);
