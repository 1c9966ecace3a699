/* Homes that are kept from run to run: one for each policy, or for each policy and workspace, below the caller's state folder. */
#pragma once
#include "policy/plan/plan.h"
#include "policy/plan/request.h"
#include "policy/policy.h"

/* Choose the request's home under filesystem.home = "kept": home_source, and home_at, its path in the jail. Nothing is made. The
 * request's workspace is absolute by now. 0, or -1 with err. */
int aj_kept_choose(struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena, struct aj_error *err);
/* Make that home where it is missing, with a record that a person can read, and hold it until the descriptor is closed: a home in
 * use is not removed. -1 without a kept home, or with err. */
int aj_kept_open(const struct aj_plan *plan, const struct aj_request *request, struct aj_error *err);

struct aj_kept {
	const char *name, *path;        /* the folder that holds the home and its record */
	const char *policy, *workspace; /* "" if the record is incomplete; "*": all workspaces */
	int64_t used_s;                 /* CLOCK_REALTIME of the last start; 0: never */
	bool in_use;
};
typedef AJ_LIST(struct aj_kept) aj_kept_list;

/* All of them, by name. -1 with err. */
int aj_kept_list_all(aj_kept_list *ret, struct aj_arena *arena, struct aj_error *err);
/* Remove one with all that jails left in it. -1 with err: no such home, or a run uses it. */
int aj_kept_remove(const char *name, struct aj_arena *arena, struct aj_error *err);
