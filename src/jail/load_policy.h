/* The policy of a run, loaded the same way by exec, run, session, serve and the library. */
#pragma once
#include "policyload/load.h"

/* A name that is only a policy of one's own becomes its file, with the trust of a file that the caller names: it loosens no key that the
 * site locks. -1 with an error: it is behind a symlink. */
int aj_find_own_policy(struct aj_ask *ask, const struct aj_site *site, struct aj_diags *diags);
/* aj_policy_load() with the environment beside `ask`, and with the caller's own policies behind all others. */
int aj_choose_policy(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags);
