/* Audit records: one before a run starts, and one when it has ended.
 * docs/audit.md describes the fields. */
#pragma once
#include "result/result.h"

/* New references; NULL when out of memory. `policy` is an object of the caller (name, sha256, files; NULL: null) and is
 * shared, not copied. Any bytes in names, arguments and claims become text; a record fits into AJ_CHAIN_RECORD_BYTES, with
 * `"truncated":true` where parts had to be left out. */
json_t *aj_record_start(const struct aj_request *request, json_t *policy);
json_t *aj_record_end(const struct aj_request *request, json_t *policy, const struct aj_plan *plan, const struct aj_result *result);
