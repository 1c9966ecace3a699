/* What the host runs or obeys later stays as it is in a workspace that a jail may change: finds the places that the plan's patterns
 * mean, makes those that a mount needs, and sees at the end whether all of them are what they were.
 *
 * A mount needs something to lie on. Where nothing is, a placeholder is made, as visible on the host as in the jail, but only one that
 * is harmless there: an empty folder, an empty config.worktree, a commondir that names the repository itself. Any other place that
 * does not exist is watched: made nevertheless, it is told at the end. */
#pragma once
#include <jansson.h>

#include "plan/plan.h"

struct aj_protect;

/* NULL in `*ret` where the plan has no writable workspace, or nothing in it is asked about: no place is to be held, and nothing moved aside.
 * On success `*ret_plan` is what is to be launched: the plan with a row for each place, or the plan itself. -1 with err: then nothing was made.
 * `budget_ms`: the repositories are looked for that long at most, now and for each report. */
int aj_protect_open(struct aj_protect **ret, const struct aj_plan *plan, uint64_t budget_ms, const struct aj_plan **ret_plan,
                    struct aj_error *err);

/* What a question about one place comes to; nothing is made for it. */
enum aj_protect_answer {
	AJ_PROTECT_FREE,
	AJ_PROTECT_WATCHED, /* it can be made, which is told of */
	AJ_PROTECT_HELD,
};
/* Would a jail of this plan find `path` (relative to the workspace, or absolute in the main repository; without links) held by this pattern,
 * itself or as a place around it? */
enum aj_protect_answer aj_protect_ask(const struct aj_plan *plan, const char *pattern, const char *path);

/* The first of these patterns that means something in `folder`, which is bound writable and where nothing is held; NULL: none does. */
const char *aj_protect_unheld(const char *folder, const char *const *patterns, size_t count);

/* What became of the places until now, as JSON (new reference): {"held": [...], "watched": [...], "changed": [{"path", "what"}],
 * "repositories": see aj_repos_changes(), "complete": were all looked at?, "why": if not}. With `jail_gone` and
 * a plan that says so, what is new is moved aside. */
json_t *aj_protect_report(struct aj_protect *protect, bool jail_gone);

/* Remove the placeholders that nobody else uses and that are still empty and ours. The jail must be gone. Accepts NULL. */
void aj_protect_close(struct aj_protect *protect);
