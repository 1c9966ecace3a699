/* Notices on standard error before a run. */
#pragma once
#include "cli/options/options.h"
#include "policy/plan/plan.h"

/* Not with --json. */
void aj_notices_print(const struct aj_options *options, const struct aj_plan *plan);
/* One line for each limit that an option asked for, and that this host does not enforce, or not exactly. */
void aj_notices_unenforced(const struct aj_options *options, const struct aj_plan *plan);
