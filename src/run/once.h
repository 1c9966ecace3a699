/* One request, one jail: launch, feed, watch, judge. */
#pragma once
#include "plan/plan.h"
#include "run/result.h"

/* Called with every piece of output as it arrives, for callers that show it at once. fd is 1 or 2. */
typedef void aj_output_fn(int fd, const char *data, size_t bytes, void *arg);

/* Always fills `ret` (a failed set-up is a result too); free it with aj_result_free(). `output` may be NULL. */
void aj_run_once(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                 aj_output_fn *output, void *output_arg, struct aj_result *ret);
