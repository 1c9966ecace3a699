/* The changes that are applied only by name, since programs of the host would obey or run what they bring. */
#pragma once
#include "changes/change.h"
#include "changes/state.h"

/* Set change->held and held_bytes. `git_bytes`: the part of the path that names a folder `.git`; 0: none. */
void aj_change_hold(struct aj_change *change, size_t git_bytes, const struct aj_change_state *state);
/* Would a link at `path` with this target lead out of the workspace, to where a user can write? */
bool aj_link_leads_out(const char *path, const char *target, const char *workspace);
/* `.git`, in any case of letters. */
bool aj_is_git_name(const char *name);
