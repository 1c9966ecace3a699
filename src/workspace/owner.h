/* Whether the jail's id may create files in its writable workspace, by the folder's owner and mode. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "policy/plan/plan.h"

/* False where it may, and without a writable workspace; else `out` is the cause and the remedy, for the hint of a run that
 * failed. */
bool aj_workspace_closed(const struct aj_plan *plan, char *out, size_t out_bytes);
