/* Combines files, options and the site's rules into one policy that records the origin of each value. */
#pragma once
#include "base/toml/source.h"
#include "policy/load/loaded.h"

/* 0, or -1 with findings. `diags->arena` owns everything in `loaded`. */
int aj_policy_load(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags);

/* The origin of item i of the list with index k, or of the whole list, where its items have none of their own. */
const struct aj_origin *aj_loaded_item_at(const struct aj_loaded *loaded, size_t k, size_t i);

/* Fill `policy` with a built-in policy, without a site's rules. False for an unknown name. */
bool aj_policy_preset(struct aj_policy *policy, struct aj_arena *arena, const char *name);

/* Read and parse only the file that `ask` names, for `policy show --source`. 0, or -1 with findings. */
int aj_policy_source(struct aj_source *source, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags);

/* Errors of values that contradict one another; called by aj_policy_load(). */
void aj_policy_contradictions(const struct aj_loaded *loaded, struct aj_diags *diags);
/* Lint: adds warnings about allowed but unwise settings. */
void aj_policy_lint(const struct aj_loaded *loaded, struct aj_diags *diags);
/* The lint about modules that undo the import check: those that this option (`--allow-import`) allows, or all (NULL). */
void aj_policy_lint_modules(const struct aj_loaded *loaded, const char *option, struct aj_diags *diags);
