/* Earlier runs on the same workspace that have unapplied changes. */
#pragma once
#include <stdbool.h>

#include "workspace/staging/staging_record.h"

enum { AJ_EARLIER_RUNS_TEXT = 640 };

/* For a person, before the run `own` begins with no changes: the newest of them, and how many more. `all`: the folder of all
 * state folders. False: none. */
bool aj_earlier_runs_text(int all, const char *own, const struct aj_staging_record *run, char out[AJ_EARLIER_RUNS_TEXT]);
