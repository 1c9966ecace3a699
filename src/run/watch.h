/* The supervisor's one loop: everything that can happen to a running jail, in one poll(). */
#pragma once
#include "run/once.h"
#include "run/verdict.h"
#include "sandbox/launch.h"

/* Returns when the jail is gone and its fds are closed, with everything but the verdict in `ret` and `ret_facts`. */
void aj_watch(struct aj_jail *jail, const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
              aj_output_fn *output, void *output_arg, int64_t started_us, struct aj_result *ret, struct aj_facts *ret_facts);
