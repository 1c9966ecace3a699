/* The lock files that make the host's git wait while its repository is changed. */
#pragma once
#include <limits.h>

#include "workspace/changes/apply_journal.h"
#include "workspace/changes/change.h"
#include "workspace/changes/run_state.h"

struct aj_apply_locks {
	char locked[PATH_MAX]; /* the last repository in the workspace with a lock */
	bool main;             /* the main repository of a linked worktree has its own */
};

/* Add the steps that take the locks for the change, before the change's own. */
void aj_apply_lock(struct aj_apply_locks *locks, struct aj_journal_writer *journal, const struct aj_change_state *state,
                   const struct aj_change *change);
