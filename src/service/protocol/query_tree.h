/* The tree of a request, from the body of its frame. */
#pragma once
#include "service/protocol/query.h"

bool aj_query_is_id(const json_t *value);
/* Set `doc`, `weight` and `passed_on` of an empty query. -1 with fault: the body is no JSON object, or one of too many values; then the query
 * has its AJ_M_ID where the text before the fault has one. `scan` has been fed the body. */
int aj_query_tree(struct aj_query *query, const char *text, size_t bytes, struct aj_scan *scan, struct aj_fault *fault);
