/* The sockets among the descriptors that a jail inherits from the caller as 0 to 2. */
#pragma once
#include "policy/plan/plan.h"

/* -1 with err: one of them could reach what the jail's own sockets cannot. */
int aj_inherited_sockets_check(const struct aj_plan *plan, struct aj_error *err);
