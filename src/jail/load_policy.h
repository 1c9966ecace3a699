/* The policy of a run, loaded the same way by exec, run, session, serve and the library. */
#pragma once
#include "policyload/load.h"

/* aj_policy_load() with the environment beside `ask`. */
int aj_choose_policy(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags);
