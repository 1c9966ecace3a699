/* The changes of an ended run that are neither applied nor discarded. */
#pragma once
#include "workspace/changes/run_state.h"

struct aj_unapplied {
	AJ_LIST(const char *) paths;     /* sorted by their bytes */
	AJ_LIST(const char *) conflicts; /* those of them that the host has changed, too */
	AJ_LIST(const char *) repositories;
	uint64_t files;
	bool any; /* one that can be applied */
};

/* Of the state, whose trees are open. -1 with err. */
int aj_unapplied_read(struct aj_change_state *state, struct aj_arena *arena, struct aj_unapplied *ret, struct aj_error *err);
/* Is it such a path, or in such a repository? */
bool aj_unapplied_has(const struct aj_unapplied *unapplied, const char *path);
/* For a person: which run's changes are continued, and which of them are in conflict. */
void aj_unapplied_text(const struct aj_unapplied *unapplied, const char *id, char *out, size_t out_bytes);
