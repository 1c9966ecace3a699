/* The supervisor's one loop: everything that can happen to a running jail, in one poll(). */
#pragma once
#include "run/once.h"
#include "sandbox/launch.h"

/* Returns when the jail's init is gone, with the attested half of `ret` and the claim filled in. */
void aj_watch(struct aj_jail *jail, const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
              aj_output_fn *output, void *output_arg, int64_t started_us, struct aj_result *ret);
