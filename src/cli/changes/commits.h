/* The commits of a run that the host does not have, read by git in a jail. They are claims, and nothing of the host changes. */
#pragma once
#include <jansson.h>
#include <stdio.h>

#include "cli/changes/changescmd.h"

/* Lists of commits that are wanted: of the repositories among the changes. */
struct aj_commit_lists {
	struct aj_arena arena;
	AJ_LIST(const char *) repositories; /* paths of their git folders */
};
/* Note a change, if it is of a repository that the run has. */
void aj_commits_note(struct aj_commit_lists *lists, const struct aj_change *change);
/* For each repository a line, and one for each of its newest commits, `max` at most. A repository without new ones has no
 * lines. */
void aj_commits_print(const struct aj_commit_lists *lists, const struct aj_change_state *state, size_t max, FILE *out);
/* [{"path", "commits": [...], "more", "error"}]; a new reference. */
json_t *aj_commits_json(const struct aj_commit_lists *lists, const struct aj_change_state *state);
void aj_commits_free(struct aj_commit_lists *lists);
