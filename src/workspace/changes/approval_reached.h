/* Places of a workspace that host programs reach under other names than the changes have: through git's configuration, and
 * through links of the host that have the name of a protected place. */
#pragma once
#include "workspace/changes/run_state.h"

/* Search the workspace, which is open; `budget_ms` at most, and false if that was not enough. The changes of `state` are held by
 * it from now on. */
bool aj_change_reach(struct aj_change_state *state, unsigned budget_ms);
/* The bytes of `path` (relative, each name in its plain spelling) up to the end of such a place; 0: it is in none. */
size_t aj_change_reached(const struct aj_change_state *state, const char *path);
/* Is such a place below `path`? */
bool aj_change_reached_below(const struct aj_change_state *state, const char *path);
