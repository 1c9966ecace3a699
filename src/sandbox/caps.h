/* Capabilities: there is one operation, and it takes everything. */
#pragma once
#include "base/error.h"

/* Empty the bounding, ambient, inheritable, permitted and effective sets and lock securebits. */
int aj_caps_drop_all(struct aj_error *err);
