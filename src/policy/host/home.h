/* The home folder of the user who called us. */
#pragma once
#include "base/arena.h"

/* $HOME without symlinks, if it can be a home (a folder of the caller's own, and not /); else NULL. */
const char *aj_home_of_caller(struct aj_arena *arena);
/* The same by /etc/passwd: services and cron have no HOME, or another one. */
const char *aj_home_listed(struct aj_arena *arena);
/* Where programs of the caller keep what lasts: $XDG_STATE_HOME, or .local/state in the home; it may not exist yet. Without
 * symlinks as far as it exists. NULL: there is no home. */
const char *aj_home_state(struct aj_arena *arena);
/* Where programs of the caller keep data: $XDG_DATA_HOME, or .local/share in the home; else as above. */
const char *aj_home_data(struct aj_arena *arena);
/* The caller's own folder of policies, .config/agentjail/policies in this home; it may not exist. NULL: there is no home. */
const char *aj_home_policies(const char *home, struct aj_arena *arena);
