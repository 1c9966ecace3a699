/* The changes of a run as rows for people: one for each change, and one for all files of a folder that git ignores. */
#pragma once
#include "cli/changes/changescmd.h"

struct aj_change_row {
	const struct aj_change *change; /* NULL: a folder, and what follows says how much is in it */
	bool ignored;                   /* by git of the host */
	const char *folder;             /* path of the workspace, "." for itself */
	const char *rule;               /* which git ignores files of the folder by; NULL: it ignores the folder */
	struct aj_tally tally;
	uint64_t bytes; /* of the files that the run has there */
};
enum aj_fold {
	AJ_FOLD_NONE,
	AJ_FOLD_FOLDERS, /* folders that git ignores, so that a row is the path of what it counts */
	AJ_FOLD_ALL,     /* and ignored files of other folders, by the rule that ignores them */
};

/* -1 ends the walk, with an error of the callback's own. */
typedef int aj_change_row_fn(void *arg, const struct aj_change_row *row);

/* Walk the changes at `args->paths`, all where there is none. Never folded is what a person must see: held, refused, in conflict.
 * The trees of `state` are open. -1 with err, or because `each` returned -1. */
int aj_changes_rows(const struct aj_changes_args *args, struct aj_change_state *state, enum aj_fold fold, aj_change_row_fn *each,
                    void *arg, struct aj_error *err);
/* One line, for people. */
void aj_change_row_print(const struct aj_change_row *row, FILE *out);
