/* Loads a policy for a run: an environment variable counts as the option that it stands for, and a name that neither the site nor
 * agentjail has is a file of the caller's own folder of policies.
 * It does not decide which settings a variable may change: the code of the options does. */
#include "jail/load_policy.h"

#include <string.h>
#include <unistd.h>

#include "host/home.h"
#include "host/paths.h"
#include "policyload/names.h"

static bool is_known(const struct aj_site *site, const char *name, struct aj_arena *arena)
{
	aj_policy_names names = { 0 };
	aj_policy_names_find(site, arena, &names);
	for (size_t i = 0; i < names.count; i++)
		if (strcmp(names.items[i], name) == 0)
			return true;
	return false;
}

const char *aj_own_policies(struct aj_arena *arena)
{
	const char *home = aj_home_of_caller(arena);
	return home ? aj_printf(arena, "%s/.config/agentjail/policies", home) : NULL;
}

void aj_find_own_policy(struct aj_ask *ask, const struct aj_site *site, struct aj_arena *arena)
{
	const char *folder = ask->name && !ask->file && aj_policy_name_valid(ask->name) ? aj_own_policies(arena) : NULL;
	const char *own = folder ? aj_printf(arena, "%s/%s.toml", folder, ask->name) : NULL;
	if (own && access(own, F_OK) == 0 && !is_known(site, ask->name, arena)) {
		ask->name = NULL;
		ask->file = own;
	}
}

int aj_choose_policy(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags)
{
	struct aj_ask asked = *ask;
	asked.tree_variable = aj_rootfs_variable();
	aj_find_own_policy(&asked, site, diags->arena);
	return aj_policy_load(loaded, site, &asked, diags);
}
