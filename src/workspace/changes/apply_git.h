/* Branches and indexes that the host's git moves, as the last change that an apply makes. */
#pragma once
#include "workspace/changes/apply_steps.h"
#include "workspace/git/host_git.h"

/* The phase and its undo; -1 with err. */
int aj_steps_move(struct aj_applying *a);
int aj_steps_unmove(struct aj_applying *a);

/* The folder with HEAD and index of the repository at the path of a change. */
const char *aj_apply_git_dir(const struct aj_change_record *record, const char *git, struct aj_arena *arena);
/* Take the index from one commit ("0": none) to another, and leave what is staged; `check`: only ask whether that can be done. -1
 * with err. */
int aj_apply_read_tree(const struct aj_git *git, const char *from, const char *to, bool check, struct aj_error *err);
