/* One request in a jail of its own: the whole of `exec` and `run`. */
#pragma once
#include "jail/run.h"

/* The run's result goes into `ret` (free it with aj_result_free()); output also goes to `output` as it comes, if given. SIGINT, SIGTERM,
 * SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are forwarded to a command; they end a snippet. */
void aj_run_once(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                 aj_output_fn *output, void *output_arg, struct aj_result *ret);
