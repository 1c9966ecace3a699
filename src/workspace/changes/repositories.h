/* The git folders of a workspace: each is one change, and nothing in it is applied by file. */
#pragma once
#include "workspace/changes/run_state.h"

/* Mark the repository of a change as settled until the run's part of it changes again. */
void aj_repository_set_settled(const struct aj_change_state *state, const char *path, struct aj_mark *ret);
/* Does `path` lie in the data of the repository at `repository`, the path of a change? */
bool aj_repository_holds(const char *repository, const char *path);
