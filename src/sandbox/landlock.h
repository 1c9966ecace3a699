/* Landlock: enforces the mount table's rights a second time, in the kernel's access control. */
#pragma once
#include "plan/plan.h"

/* Restrict the calling process: read everywhere in the jail, write where the plan has a writable row, no abstract
 * sockets or signals beyond the jail where the ABI knows them. */
int aj_landlock_restrict(const struct aj_plan *plan, struct aj_error *err);
/* Only the scopes for abstract sockets and signals; does nothing where the ABI does not know them. A process restricted like this can
 * still mount, and its children can restrict themselves further. */
int aj_landlock_scope(int abi, struct aj_error *err);
