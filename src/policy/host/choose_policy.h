/* The policy of a run, loaded the same way by exec, run, session, serve and the library. */
#pragma once
#include "policy/load/load.h"

/* Replace a name that is only in the caller's own folder by its file, which is trusted like --policy-file: it cannot loosen keys
 * that the site locks. -1 with an error if a component of its path is a symlink. */
int aj_find_own_policy(struct aj_ask *ask, const struct aj_site *site, struct aj_diags *diags);
/* aj_policy_load() with the options from the environment, and the caller's own policies after all others. */
int aj_choose_policy(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags);
