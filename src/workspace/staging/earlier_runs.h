/* Earlier runs on the same workspace that have unapplied changes. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

enum { AJ_EARLIER_RUNS_TEXT = 640 };

/* For a person, before the run `own` begins with no changes: the newest of them, and how many more. `all`: the folder of all state folders;
 * `workspace`: its stat(2); `copy`: the run's mode. False: none. */
bool aj_earlier_runs_text(int all, const char *own, const struct stat *workspace, bool copy, char out[AJ_EARLIER_RUNS_TEXT]);
