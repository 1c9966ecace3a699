/* The walk over a run's view of a workspace and over the workspace as it is now: one call for each change, folder by folder, names in order.
 * A deleted folder's entries come before the folder, an added folder before its entries. */
#pragma once
#include "workspace/changes/change.h"
#include "workspace/changes/run_state.h"

/* The trees of `state` are open, or those of its main repository alone. 0; -1 with err, or because `each` returned -1. */
int aj_changes_walk(struct aj_change_state *state, aj_change_fn *each, void *arg, struct aj_error *err);

/* The same of the repositories alone; no other file is compared. */
int aj_changes_repositories(struct aj_change_state *state, aj_change_fn *each, void *arg, struct aj_error *err);

/* Whether the workspace's file was changed after the run began, other than by an apply of these changes. Rewriting the content that
 * aj_change_original() marked is not a change. */
bool aj_changed_since(const struct aj_change_state *state, const char *path, const struct stat *st);
/* Fill `ret` with a mark of the workspace file's content, if the host has not changed the file yet. False: no mark, as the file is missing,
 * larger than AJ_ORIGINAL_MAX, or being changed. */
enum { AJ_ORIGINAL_MAX = 4 << 20 };
bool aj_change_original(const struct aj_change_state *state, const struct aj_change *change, struct aj_mark *ret);
