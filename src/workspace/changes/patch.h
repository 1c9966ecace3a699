/* A change as a part of a patch that git-apply(1) and patch(1) accept. */
#pragma once
#include "base/error.h"
#include "workspace/changes/change.h"
#include "workspace/changes/run_state.h"

typedef void aj_patch_fn(void *arg, const char *data, size_t bytes);

/* The parts of the change, through `put`. A binary file is named by a line that no program applies; a folder has no part. The
 * trees are open. -1 with err. */
int aj_patch(struct aj_change_state *state, const struct aj_change *change, aj_patch_fn *put, void *arg, struct aj_error *err);
