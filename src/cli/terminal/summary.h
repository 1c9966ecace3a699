/* The effects of a run other than its result, for people, one line each. */
#pragma once
#include <stdio.h>

#include "jail/result/result.h"

/* Print the refused system calls, a line each, at most ten, and the advice once, and the refused hosts; `list`: of a result. */
void aj_show_violations(FILE *out, const json_t *list);
/* Print a result's own hint; NULL: there is none. */
void aj_show_hint(FILE *out, const char *hint);
/* Both. */
void aj_show_refusals(FILE *out, const struct aj_result *result);
/* Print the limits that were hit, a line each, but for the one that ended the run: the result's reason names that. */
void aj_show_limits(FILE *out, const struct aj_result *result);
/* Print the hosts to which a network by allow-list made no connection: those that it refused, and those that did not answer. */
void aj_show_network(FILE *out, const struct aj_network_use *network);
/* Control sequences that did not reach the terminal; `all`: also those that a person hardly misses. */
void aj_show_escapes(FILE *out, const uint64_t left_out[AJ_ESCAPE_KINDS], bool all);
/* One line where changes of a workspace are kept apart: `changes` of a result, or NULL. */
void aj_show_changes(FILE *out, const json_t *changes);
/* Print the changes to places in the workspace that the host runs or obeys, a line each. `report`: of a result, or NULL;
 * `earlier`: an earlier report of the same jail, whose lines are not repeated, or NULL. */
void aj_show_workspace(FILE *out, const json_t *report, const json_t *earlier);
/* Print the files that came back, of which `folder` has copies, and those that did not, a line each. */
void aj_show_files(FILE *out, const struct aj_result *result, const char *folder);
