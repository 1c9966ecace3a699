/* Links of a run that are applied only by name: by where they lead, and by where they stand. */
#pragma once
#include "workspace/changes/change.h"
#include "workspace/changes/run_state.h"

/* Why a new or changed link is held; NULL: it is not. */
const char *aj_link_held(const struct aj_change *change, const struct aj_change_state *state);
/* Would a link at `path` with this target lead out of the workspace, to where a user can write? */
bool aj_link_leads_out(const char *path, const char *target, const char *workspace);
