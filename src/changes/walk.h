/* The walk over a run's view of a workspace and over the workspace as it is now: one call for each change, folder by folder, names in order.
 * A deleted folder's entries come before the folder, an added folder before its entries. */
#pragma once
#include "changestate/change.h"
#include "changestate/state.h"

/* The trees of `state` are open. 0; -1 with err, or because `each` returned -1. */
int aj_changes_walk(struct aj_change_state *state, aj_change_fn *each, void *arg, struct aj_error *err);

/* Was the workspace's file changed after the run began, by anybody but an apply of these changes? One that was written again as it was when
 * aj_change_original() saw it was not. */
bool aj_changed_since(const struct aj_change_state *state, const char *path, const struct stat *st);
/* Mark what the workspace's file holds, which the host has not changed by now; `ret` is a mark to be kept. False: there is none to be, the file
 * is larger than AJ_ORIGINAL_MAX, or it changes. */
enum { AJ_ORIGINAL_MAX = 4 << 20 };
bool aj_change_original(const struct aj_change_state *state, const struct aj_change *change, struct aj_mark *ret);
