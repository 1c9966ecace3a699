/* One request in a jail of its own: the whole of `exec` and `run`. */
#pragma once
#include "jail/run.h"

/* Everything about the run goes into `ret` (free it with aj_result_free()). Output that arrives is passed on as it comes when
 * `output` is given. Signals SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 go to a command; they end a snippet. */
void aj_run_once(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                 aj_output_fn *output, void *output_arg, struct aj_result *ret);
