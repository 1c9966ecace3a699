/* One cgroup v2 leaf per jail: created before the jail is born in it. What can be done with it then is in leaf.h. */
#pragma once
#include <stddef.h>

#include "plan/plan.h"

/* Create a leaf in the folder `in`, which is plan->cgroup or a nursery's, apply the rows. Returns an fd for CLONE_INTO_CGROUP, or -1 with err
 * set and no leaf left. `ret_path` gets the leaf's path. We move ourselves into a leaf of our own first where the kernel demands it. */
int aj_cgroup_create(const struct aj_plan *plan, const char *in, char *ret_path, size_t path_bytes, struct aj_error *err);

/* Where a zygote and its jails are. A process may be born into any leaf that its user may write to, if it can name it: so those that a zygote
 * can name are in a folder of their own, and ours is not among them. */
struct aj_nursery {
	char folder[512]; /* its jails have leaves in it; "": there is none */
	char leaf[512];   /* the zygote's own and the holder's, and the inits of its jails */
	size_t jails;     /* that leaf has room for */
};

/* Create both. Returns an fd of the leaf, or -1 with err set and nothing left. */
int aj_nursery_create(const struct aj_plan *plan, struct aj_nursery *ret, struct aj_error *err);
/* So many jails are there, or will be in a moment: the leaf's limits grow by what they take of it. Without effect where there is none. */
int aj_nursery_make_room(const struct aj_plan *plan, struct aj_nursery *nursery, size_t jails, struct aj_error *err);
/* All processes are gone. */
void aj_nursery_remove(struct aj_nursery *nursery);
