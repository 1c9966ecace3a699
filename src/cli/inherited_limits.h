/* Inherited resource limits of this process that would stop it half-way: raised to the hard limit, or reported at once. */
#pragma once
#include "base/error.h"

/* Returns -1 when a hard limit is too low. */
int aj_caller_limits(struct aj_error *err);
