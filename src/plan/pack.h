/* The part of a plan that jails born from a zygote need, as one block of bytes for the way into it.
 * Only ever sent inwards, by the supervisor to a zygote that has run nothing but our code. */
#pragma once
#include "plan/plan.h"

/* malloced; NULL when out of memory. */
char *aj_plan_pack(const struct aj_plan *plan, size_t *ret_bytes);
/* The plan's strings point into `data`, its rows are malloced: both stay as long as the plan. -1 when the bytes are no plan. */
int aj_plan_unpack(struct aj_plan *plan, const char *data, size_t bytes);
