/* Applies the changes of a run to its workspace: all of them or those below given paths; either completely or not at all. */
#pragma once
#include "base/buffer.h"
#include "workspace/changes/apply_journal.h"
#include "workspace/changes/change.h"
#include "workspace/changes/history.h"
#include "workspace/changes/run_state.h"

enum aj_apply_outcome {
	AJ_APPLY_CONFLICT,       /* so nothing is applied, unless it is forced */
	AJ_APPLY_NEEDS_APPROVAL, /* left: it is applied only by name */
	AJ_APPLY_REFUSED,        /* left: it is never applied */
	AJ_APPLY_FOR_MERGE,      /* left: a merge of the run's commits brings it */
	AJ_APPLY_ARRIVED,        /* left: the host's branch has the run's version, and the host has changed it since */
	AJ_APPLY_TAKEN,
	AJ_APPLY_MERGED, /* taken, as the merge of it and of the host's change; the note says with how many conflicts */
	AJ_APPLY_OUTCOMES
};

struct aj_apply_how {
	const char *const *paths; /* relative to the workspace, or absolute in its main repository, and plain; none: all */
	size_t paths_count;
	bool force;         /* the host's own changes are overwritten */
	bool merge;         /* text files that both changed are merged */
	const char *branch; /* make this branch of the run's commits, and move none; NULL: move what can be moved forward */
	/* Called for each change before any is applied. */
	void (*on_outcome)(void *arg, enum aj_apply_outcome outcome, const struct aj_change *change);
	/* Called at the end for each repository whose history was fetched: its branch moved, or a new one was made. */
	void (*on_repository)(void *arg, const struct aj_history_repo *repo, bool moves, const char *branch);
	void *arg;
};

struct aj_applied {
	size_t counts[AJ_APPLY_OUTCOMES];
	bool resumed;          /* an apply that was interrupted was ended; `paths` were not looked at */
	struct aj_buffer kept; /* after an undo: files that the host had changed meanwhile, each with a newline; malloced */
};

/* The state is locked, and its trees are open. -1 with err, whose exit code is AJ_EXIT_ERROR where conflicts were the reason;
 * then the workspace is as it was before. */
int aj_apply(struct aj_change_state *state, const struct aj_apply_how *how, struct aj_applied *ret, struct aj_error *err);
/* Take an interrupted apply back; one that had nothing left to do but to remove what was there is ended. -1 with err. */
int aj_apply_abort(struct aj_change_state *state, struct aj_applied *ret, struct aj_error *err);
/* Settle changes without applying them: they are no changes any more. `ret->counts[AJ_APPLY_TAKEN]` says how many. */
int aj_changes_drop(struct aj_change_state *state, const struct aj_apply_how *how, struct aj_applied *ret, struct aj_error *err);
/* When the change takes effect among the others. */
enum aj_step_pass aj_apply_pass(const struct aj_change *change);
