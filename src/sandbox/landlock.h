/* Landlock: a second lock on what the mounts already say, in the kernel's access control instead of its mount table. */
#pragma once
#include "plan/plan.h"

/* Restrict the calling process: read everywhere in the jail, write where the plan has a writable row, no abstract
 * sockets or signals beyond the jail where the ABI knows them. */
int aj_landlock_restrict(const struct aj_plan *plan, struct aj_error *err);
/* The last of these alone, and nothing where the ABI does not know them. Who is restricted so can still mount, and what it makes can restrict
 * itself further. */
int aj_landlock_scope(int abi, struct aj_error *err);
