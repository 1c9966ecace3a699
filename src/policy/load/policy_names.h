/* The names of policies that --policy takes. */
#pragma once
#include "base/error.h"
#include "policy/load/site.h"

typedef AJ_LIST(const char *) aj_policy_names;

/* Append the policies in this folder that are not in the list yet, if it exists. -1 with err, and those that were found. */
int aj_policy_names_in(const char *folder, struct aj_arena *arena, aj_policy_names *ret, struct aj_error *err);
/* Every name that can be loaded, sorted, each once. -1 with err, and those that were found. */
int aj_policy_names_find(const struct aj_site *site, struct aj_arena *arena, aj_policy_names *ret, struct aj_error *err);
/* The file of a policy in the caller's own folder, behind those of the site and the built-in ones; *ret is NULL if there is none.
 * `folder` may be NULL. -1 with findings: it is behind a symlink. */
int aj_policy_names_own(const char *folder, const char *name, const struct aj_site *site, struct aj_diags *diags,
                        const char **ret);
