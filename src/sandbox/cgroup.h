/* One cgroup v2 leaf per jail: created before the jail is born in it, removed when it is empty. */
#pragma once
#include <stddef.h>

#include "plan/plan.h"

/* Create a leaf below plan->cgroup, apply the rows. Returns an O_PATH fd for CLONE_INTO_CGROUP, or -1 with err set.
 * `ret_path` gets the leaf's path. We move ourselves into a leaf of our own first where the kernel demands it. */
int aj_cgroup_create(const struct aj_plan *plan, char *ret_path, size_t path_bytes, struct aj_error *err);

/* SIGKILL for everything in it; without effect on "". */
void aj_cgroup_kill(const char *path);

/* Remove the leaf; all its processes are gone. Without effect on "". */
void aj_cgroup_remove(const char *path);

/* The kernel's word on a leaf: highest use so far and processes killed for memory. Both 0 for "" or when unknown. */
void aj_cgroup_usage(const char *path, uint64_t *ret_peak_bytes, uint64_t *ret_oom_kills);
