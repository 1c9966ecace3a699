/* The walk over a run's view of a workspace and over the workspace as it is now: one call for each change, folder by folder,
 * names in order. A deleted folder's entries come before the folder, an added folder before its entries. */
#pragma once
#include "workspace/changes/change.h"
#include "workspace/changes/run_state.h"

/* The trees of `state` are open, or those of its main repository alone. 0; -1 with err, or because `each` returned -1. */
int aj_changes_walk(struct aj_change_state *state, aj_change_fn *each, void *arg, struct aj_error *err);

/* The same of the repositories alone; no other file is compared. */
int aj_changes_repositories(struct aj_change_state *state, aj_change_fn *each, void *arg, struct aj_error *err);
