/* Merges a file that the host and the run both changed, line by line, as git merges it. */
#pragma once
#include "workspace/changes/apply_history.h"

/* Write the merged content for the step with this number to the state folder. The number of conflicts, each between markers; -1:
 * it cannot be merged, and `*ret_why` says why. */
int aj_apply_merge(struct aj_apply_history *h, const struct aj_change *c, uint64_t number, const char **ret_why);
/* Remove what merges have written, unless an interrupted apply needs it. */
void aj_apply_merge_clean(int dir);
