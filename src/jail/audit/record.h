/* Audit records: one before a run starts, those of its connections, and one when it has ended.
 * docs/reference/audit.md describes the fields. */
#pragma once
#include "jail/result/result.h"

/* New references; NULL when out of memory. `policy` is an object of the caller (name, sha256, files; NULL: null) and is
 * shared, not copied. Any bytes in names, arguments and claims become text; a record fits into AJ_CHAIN_RECORD_BYTES, with
 * `"truncated":true` where parts had to be left out. */
json_t *aj_record_start(const struct aj_request *request, json_t *policy);
/* The connections of a network by allow-list, from number *at on, as many as a record has room for; NULL: no more. */
json_t *aj_record_network(const struct aj_request *request, const struct aj_network_use *network, size_t *at);
/* Network totals of a session after its last run. */
json_t *aj_record_last_network(const struct aj_request *request, const struct aj_network_use *network);
json_t *aj_record_end(const struct aj_request *request, json_t *policy, const struct aj_plan *plan,
                      const struct aj_result *result);
