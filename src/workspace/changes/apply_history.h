/* What an apply does with the history of the workspace's repositories: which branches move, which files a merge will bring. */
#pragma once
#include "workspace/changes/apply_journal.h"
#include "workspace/changes/change.h"
#include "workspace/changes/history.h"

struct aj_apply_history {
	struct aj_change_state *s;
	const char *branch; /* make this one, and move none; NULL: none */
	struct aj_arena arena;
	struct aj_history history;
	bool resumed;                /* an apply that was killed ends: its branches have moved */
	AJ_LIST(const char *) asked; /* git folders */
	size_t links;                /* of commits, read so far */
	AJ_LIST(const char *) made;  /* folders that are new bare repositories */
};

/* Find the repositories that the caller's paths mean (none: all), and fetch their history. -1 with err. */
int aj_apply_history_read(struct aj_apply_history *h, const char *const *paths, size_t paths_count, struct aj_error *err);
/* The same once more for an apply that was killed. */
int aj_apply_history_resume(struct aj_apply_history *h, const struct aj_journal *journal, struct aj_error *err);
void aj_apply_history_free(struct aj_apply_history *h);
/* Where the content of a changed file comes from. */
enum aj_apply_source {
	AJ_APPLY_FROM_RUN,
	AJ_APPLY_FROM_MERGE,  /* commits that are left for a merge touch the path */
	AJ_APPLY_FROM_BRANCH, /* a merge has brought it already */
};
enum aj_apply_source aj_apply_history_source(struct aj_apply_history *h, const struct aj_change *c);
/* Is a new folder made only for what is applied below it, since a merge brings something there, or git makes it? */
bool aj_apply_history_makes(const struct aj_apply_history *h, const char *folder);

/* Add the steps that move branches and settle repositories; -1 with err: git would refuse one. */
int aj_apply_history_plan(struct aj_apply_history *h, struct aj_journal_writer *journal, struct aj_error *err);
/* Will the branch of this repository move, or get a new one? */
bool aj_apply_history_moves(const struct aj_apply_history *h, const struct aj_history_repo *r);
bool aj_apply_history_branches(const struct aj_apply_history *h, const struct aj_history_repo *r);
/* After all steps: make new repositories, and settle those whose history the host has now. -1 with err. */
int aj_apply_history_end(struct aj_apply_history *h, struct aj_error *err);
