/* The references and logs of a main repository's view, beside those of the host. */
#pragma once
#include "workspace/changes/change.h"
#include "workspace/changes/main_packed.h"
#include "workspace/changes/run_state.h"

/* Files of a main repository that a walk reads once. */
struct aj_main {
	struct aj_arena arena;
	const struct aj_change_state *s;
	AJ_LIST(const char *) taken;        /* references that other working trees of the host have checked out */
	bool taken_unknown;                 /* not all could be read */
	aj_packed_refs packed, host_packed; /* the view's where the run has changed it, and the host's */
	bool packed_changed;
	const char *packed_bad; /* why the view's is never applied; NULL: it may be */
	bool packs_none;        /* it is new, and names no reference */
	bool stash_dropped;     /* the view's log of refs/stash lacks entries of the host's */
};

void aj_main_read(struct aj_main *ret, const struct aj_change_state *state);
void aj_main_free(struct aj_main *whole);
/* Does the view's packed-refs, which the run has changed, name the reference? */
bool aj_main_packs(const struct aj_main *whole, const char *ref);
/* Can the host have no such reference beside those that it has packed, or that the run has? */
bool aj_main_crosses(const struct aj_main *whole, const char *ref);
/* Would git take a short name that leads to one of the host's references for this one from now on? */
bool aj_main_shadows(const struct aj_main *whole, const char *ref);
/* Is the reference the branch of another working tree of the host? */
bool aj_main_taken(const struct aj_main *whole, const char *ref);
/* Does the changed file name an object that the host has, or, with `added`, that an apply would add; or, where `ret_branch` is not NULL or the
 * reference stands for another one by its name, a reference? `*ret_branch`, with PATH_MAX bytes: the branch of a HEAD, "" for none. */
bool aj_main_ref_plain(const struct aj_main *whole, const struct aj_change *change, const char *ref, bool added, char *ret_branch);
/* Has the changed log all that the host's has? */
bool aj_main_log_extends(const struct aj_main *whole, const char *path);
