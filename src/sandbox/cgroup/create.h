/* One cgroup v2 leaf per jail, created before the jail is born in it. leaf.h has the operations on a leaf. */
#pragma once
#include <stddef.h>

#include "policy/plan/plan.h"

/* Create a leaf in the folder `in`, which is plan->cgroup or a zygote's folder, and apply the rows. Returns an fd for
 * CLONE_INTO_CGROUP, or -1 with err set and no leaf left. `ret_path` gets the leaf's path. Where the kernel requires it, the
 * supervisor first moves itself into a leaf of its own. */
int aj_cgroup_create(const struct aj_plan *plan, const char *in, char *ret_path, size_t path_bytes, struct aj_error *err);

/* Move this process from the cgroup `dir`, if it is in it, to a new leaf there, so that `dir` has no processes. */
int aj_cgroup_make_way(const char *dir, struct aj_error *err);

/* The cgroups of a zygote and its jails. A process may be born into any leaf that its user can write, if the process can name the
 * leaf: so the leaves that a zygote can name lie in a folder of their own, without the supervisor's. */
struct aj_zygote_cgroups {
	char folder[512]; /* contains the leaves of its jails; "": none */
	char leaf[512];   /* the leaf of the zygote, the holder, and the inits of its jails */
	size_t jails;     /* number of jails for which the leaf's limits suffice */
};

/* Create folder and leaf. Returns an fd of the leaf, or -1 with err set and nothing left. */
int aj_zygote_cgroups_create(const struct aj_plan *plan, struct aj_zygote_cgroups *ret, struct aj_error *err);
/* Raise the leaf's limits for this many jails. No effect without a leaf. */
int aj_zygote_cgroups_make_room(const struct aj_plan *plan, struct aj_zygote_cgroups *cgroups, size_t jails,
                                struct aj_error *err);
/* Remove both; all processes must be gone. */
void aj_zygote_cgroups_remove(struct aj_zygote_cgroups *cgroups);
