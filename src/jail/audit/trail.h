/* The records of a run in the site's audit trail: start, connections, end. */
#pragma once
#include "jail/audit/audit.h"
#include "jail/result/result.h"
#include "policy/load/site.h"
#include "policy/plan/plan.h"

struct aj_trail {
	struct aj_audit audit;
	const struct aj_request *request; /* the caller's, from the start on */
	char missed[480]; /* why the start could not be recorded, when the policy lets the run continue; "" otherwise */
	char late[480]; /* why connections could not be recorded, or ""; connections between two runs count for the second one */
};

/* A run's id in its result and its records, if the caller names none: 16 random hexadecimal digits, or "0" without randomness. */
const char *aj_trail_new_id(struct aj_arena *arena);

/* Call before the run starts; the trail is zeroed or that of an earlier run. Returns 0, or -1 with err if the policy requires a
 * record and none can be written. */
int aj_trail_start(struct aj_trail *trail, const struct aj_site *site, const struct aj_policy *policy,
                   const struct aj_request *request, const struct aj_plan *plan, struct aj_error *err);
/* Record connections that have ended; an aj_connections_fn with the trail as its argument. Where that fails, the end fails. */
void aj_trail_connections(const struct aj_network_use *network, void *trail);
/* Record network totals since the end of the last run, if there are any. -1 with err. */
int aj_trail_record_network(struct aj_trail *trail, const struct aj_network_use *network, struct aj_error *err);
/* Call when the run has ended: fills result->recorded. -1 with err if the policy requires a record of the end and it failed. */
int aj_trail_end(struct aj_trail *trail, const struct aj_policy *policy, const struct aj_request *request,
                 const struct aj_plan *plan, struct aj_result *result, struct aj_error *err);
