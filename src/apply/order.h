/* The order in which the changes of an apply take effect. */
#pragma once
#include "apply/journal.h"
#include "changestate/change.h"

enum aj_step_pass aj_apply_pass(const struct aj_change *change);
