/* Landlock: a second lock on what the mounts already say, in the kernel's access control instead of its mount table. */
#pragma once
#include "plan/plan.h"

/* Restrict the calling process: read everywhere in the jail, write where the plan has a writable row, no abstract
 * sockets or signals beyond the jail where the ABI knows them. */
int aj_landlock_restrict(const struct aj_plan *plan, struct aj_error *err);
