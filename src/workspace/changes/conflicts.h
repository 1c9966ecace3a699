/* Conflicts between a run's changes and the host's, and the marks of a file's content by which a file that was only rewritten is
 * none. */
#pragma once
#include "workspace/changes/change.h"
#include "workspace/changes/run_state.h"

/* Fill `ret` with a mark of the workspace file's content, if the host has not changed the file yet. False: no mark, as the file
 * is missing, larger than AJ_ORIGINAL_MAX, or being changed. */
enum { AJ_ORIGINAL_MAX = 4 << 20 };
bool aj_change_original(const struct aj_change_state *state, const struct aj_change *change, struct aj_mark *ret);
