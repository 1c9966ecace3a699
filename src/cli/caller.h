/* The limits that we were started with: those that would end us half-way are raised where they may be, or named at once. */
#pragma once
#include "base/error.h"

/* -1 when one is too low and may not be raised. */
int aj_caller_limits(struct aj_error *err);
