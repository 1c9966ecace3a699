/* Keeps files that the host runs or obeys later unchanged in a workspace that a jail may write: finds the places that match the
 * plan's patterns, creates missing mount points, and reports at the end which places changed.
 *
 * A mount needs a mount point. Where the place is missing, a placeholder is created, visible on the host as in the jail, but only
 * a harmless one: an empty folder, an empty config.worktree, a commondir that names the repository itself. Any other missing
 * place is watched: if the jail creates it, the final report names it. */
#pragma once
#include <jansson.h>

#include "sandbox/mounts/built.h"

struct aj_protect;

/* `*ret` is NULL where the plan has no writable workspace, or protects and watches nothing in it. Notes the places in `built`;
 * their names are valid until aj_protect_close(). -1 with err: then nothing was created. `budget_ms`: maximal time of one search
 * for repositories, now and for each report. */
int aj_protect_open(struct aj_protect **ret, struct aj_built *built, uint64_t budget_ms, struct aj_error *err);

/* How a place is protected; the query creates nothing. */
enum aj_protect_answer {
	AJ_PROTECT_FREE,
	AJ_PROTECT_WATCHED, /* it can be created, which the report names */
	AJ_PROTECT_HELD,
};
/* How would a jail of this plan protect `path` (relative to the workspace, or absolute in the main repository; without symlinks)
 * by this pattern, itself or through a place around it? */
enum aj_protect_answer aj_protect_ask(const struct aj_plan *plan, const char *pattern, const char *path);

/* The first of these patterns that matches in `folder`, which is bound writable and in which nothing is held; NULL: none
 * matches. */
const char *aj_protect_unheld(const char *folder, const char *const *patterns, size_t count);

/* The state of all places so far, as JSON (new reference): {"held": [...], "watched": [...], "changed": [{"path", "what"}],
 * "repositories": see aj_repos_changes(), "complete": were all examined?, "why": if not}. With `jail_gone`, and if the plan asks
 * for quarantine, new places are renamed aside. */
json_t *aj_protect_report(struct aj_protect *protect, bool jail_gone);

/* Remove the placeholders that no other run uses and that are still marked and empty. The jail must be gone. Accepts NULL. */
void aj_protect_close(struct aj_protect *protect);
