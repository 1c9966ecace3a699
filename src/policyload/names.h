/* The names of policies that --policy takes. */
#pragma once
#include "policyload/site.h"

typedef AJ_LIST(const char *) aj_policy_names;

/* Appends the names of the policies in this folder that are not in the list. */
void aj_policy_names_in(const char *folder, struct aj_arena *arena, aj_policy_names *ret);
/* Every name that can be loaded, sorted, each once. */
void aj_policy_names_find(const struct aj_site *site, struct aj_arena *arena, aj_policy_names *ret);
