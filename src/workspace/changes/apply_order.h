/* The order in which the changes of an apply take effect. */
#pragma once
#include "workspace/changes/apply_journal.h"
#include "workspace/changes/change.h"

enum aj_step_pass aj_apply_pass(const struct aj_change *change);
