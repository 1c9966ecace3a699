/* Where the fetched commits of runs began: each run's references in the host's repository, and the commit that they share with
 * the host's HEAD. */
#pragma once
#include "base/arena.h"
#include "workspace/changes/run_state.h"

struct aj_run_branch {
	const char *name; /* as `git log` takes it: agentjail/ID/main */
	const char *oid, *subject;
};

struct aj_run_base {
	const char *oid, *subject, *date; /* of the base; NULL: the run has no references, or shares no commit with the host */
	const char *tree;                 /* working tree of the repository */
	AJ_LIST(struct aj_run_branch) branches;
	size_t commits; /* on the first one of them, since the base */
};

/* Repositories that were asked, so that each is asked once. */
struct aj_run_bases {
	struct aj_arena arena;
	AJ_LIST(struct aj_asked_repository) repositories;
};
void aj_run_bases_of(struct aj_run_bases *bases, const struct aj_change_state *state, struct aj_run_base *ret);
void aj_run_bases_free(struct aj_run_bases *bases);
