/* The changes that are applied only by name, because programs of the host would run or obey their contents. */
#pragma once
#include "workspace/changes/change.h"
#include "workspace/changes/run_state.h"

/* Set change->held and held_bytes of a change that is not a repository. */
void aj_change_judge_approval(struct aj_change *change, const struct aj_change_state *state);
/* Why a link with this target at change->path is held, or a folder of unknown contents (`target` NULL); NULL: it is not. */
const char *aj_change_judge_link(const struct aj_change *change, const char *target, const struct aj_change_state *state);
/* Does some file system take the name for `.git`? */
bool aj_is_git_name(const char *name);
/* The end of the part of `path`, whose names are plain, that the policy or the built-in list protects; 0: none. */
size_t aj_change_protected(const struct aj_change_record *record, const char *path);
/* Would a link at `path` with this target lead out of the workspace, to where a user can write? */
bool aj_link_leads_out(const char *path, const char *target, const char *workspace);
