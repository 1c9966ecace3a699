/* The steps of an apply, for apply.c. Each phase is idempotent: it does only what is not done yet, so it can be killed at any
 * instant and run again. */
#pragma once
#include <limits.h>

#include "workspace/changes/apply_journal.h"
#include "workspace/changes/run_state.h"

struct aj_applying {
	struct aj_change_state *s;
	struct aj_journal j;
	struct aj_error *err;
	int parent; /* the folder of the last step, on the host; -1: none yet */
	char parent_path[PATH_MAX];
	bool dirty; /* and something in it was renamed */
	char room[AJ_STEP_BYTES];
	/* The step at hand, and the names of its place, of its new content and of what was there. */
	struct aj_apply_step step; /* AJ_STEP_MERGED is AJ_STEP_PUT, with `merged` */
	bool merged;
	const char *at;
	char fresh[AJ_JOURNAL_NAME], old[AJ_JOURNAL_NAME];
	struct aj_buffer kept; /* names of files that an undo found changed and left where they are, each with a newline */
};

/* Each: 0, or -1 with err. */
int aj_steps_stage(struct aj_applying *a);
int aj_steps_swap(struct aj_applying *a);
int aj_steps_clean(struct aj_applying *a);
int aj_steps_unstage(struct aj_applying *a);
int aj_steps_unswap(struct aj_applying *a); /* before aj_steps_unstage() */
int aj_steps_mark(struct aj_applying *a, bool settled);

/* For the files of the phases alone. */

/* Load step `index` and open its folder. 0; 1: the folder is missing; -1 with err. */
int aj_step_load(struct aj_applying *a, size_t index);
/* Call `fn` for each step of a pass (AJ_PASSES: of all) whose folder is there, in their order or backward. -1 with err. */
int aj_steps_each(struct aj_applying *a, unsigned pass, bool backward, int (*fn)(struct aj_applying *a));
/* O_PATH descriptor of the new content, in the run's tree or of a merge; -1 with errno. */
int aj_step_place(const struct aj_applying *a);
/* The state of a name in the step's folder; st_mode 0: absent. */
struct stat aj_step_stat(const struct aj_applying *a, const char *name);
/* Is it what the journal says was in the place? */
bool aj_step_is_old(const struct aj_applying *a, const struct stat *st);
/* -1 with err: a system call failed, or the host was there first. */
int aj_step_fail(struct aj_applying *a, int errnum, const char *what);
int aj_step_raced(struct aj_applying *a);
/* Flush the folder of the last step, where few steps are taken; else one flush of the file system ends a phase. */
int aj_steps_flush(struct aj_applying *a, bool end);
int aj_step_chmod(struct aj_applying *a, mode_t mode);
