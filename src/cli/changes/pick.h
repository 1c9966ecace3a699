/* Changes picked one by one, at a terminal. */
#pragma once
#include <stdbool.h>

#include "cli/changes/answer.h"

/* Show each change of the run with its diff, ask for it, and apply what was picked. False: nothing was applied, and the person
 * may be asked again. */
bool aj_changes_pick(const char *id, const struct aj_answers *answers);
