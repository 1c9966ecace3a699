/* One cgroup v2 leaf per jail: created before the jail is born in it. What can be done with it then is in leaf.h. */
#pragma once
#include <stddef.h>

#include "plan/plan.h"

/* Create a leaf below plan->cgroup, apply the rows. Returns an fd for CLONE_INTO_CGROUP, or -1 with err set and no leaf left.
 * `ret_path` gets the leaf's path. We move ourselves into a leaf of our own first where the kernel demands it. */
int aj_cgroup_create(const struct aj_plan *plan, char *ret_path, size_t path_bytes, struct aj_error *err);

/* The same without a leaf: its children can have what the rows need from here on, and we have stepped aside. Before a zygote is born, which
 * would be in the way where we are now. -1 with err. */
int aj_cgroup_prepare(const struct aj_plan *plan, struct aj_error *err);
