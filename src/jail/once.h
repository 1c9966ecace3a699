/* One request in a jail of its own: the whole of `exec` and `run`. */
#pragma once
#include "jail/jail.h"

/* Functions that are called during the run; each may be NULL. */
struct aj_once_events {
	aj_output_fn *output;
	void *output_arg;
	aj_connections_fn *connections;
	void *connections_arg;
};

/* The run's result goes into `ret` (free it with aj_result_free()). SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are
 * forwarded to a command; they end a snippet. `events` may be NULL. */
void aj_run_once(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                 const struct aj_once_events *events, struct aj_result *ret);
