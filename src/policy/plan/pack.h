/* The part of a plan that jails born from a zygote need, packed as one block of bytes.
 * Sent in one direction only: by the supervisor to a zygote that has run only agentjail's code so far. */
#pragma once
#include "policy/plan/plan.h"

/* malloced; NULL when out of memory. */
char *aj_plan_pack(const struct aj_plan *plan, size_t *ret_bytes);
/* The plan's strings point into `data` and its rows are malloced: both must outlive the plan. -1: the bytes are not a plan. */
int aj_plan_unpack(struct aj_plan *plan, const char *data, size_t bytes);
