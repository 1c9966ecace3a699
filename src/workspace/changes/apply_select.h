/* Selects the changes that a caller's paths name. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "workspace/changes/change.h"

struct aj_selection {
	const char *const *paths; /* relative to the workspace, or absolute in its main repository, and plain; none: all */
	size_t paths_count;
	bool *met;          /* by path: a change was found there */
	const char *inside; /* a path in a git folder, whose data is git's; NULL: none */
};

enum aj_selected { AJ_SELECTED_NOT, AJ_SELECTED, AJ_SELECTED_WITHOUT_APPROVAL };
enum aj_selected aj_select(struct aj_selection *selection, const struct aj_change *change);
/* Is the change itself at the path of a caller, or below it? `.` is the workspace, without its main repository. */
bool aj_select_covers(const char *path, const char *change);
/* Does the path mean the change, and reach into its held place if it has one? */
bool aj_select_names(const char *path, const struct aj_change *change);
