/* Loads a policy for a run: environment variables stand for options, and a name that is neither the site's nor built in is a file
 * in the caller's own folder of policies.
 * It does not decide which settings a variable may change: the code of the options does. */
#include "policy/host/choose_policy.h"

#include "policy/host/home.h"
#include "policy/host/paths.h"
#include "policy/host/python_env.h"
#include "policy/load/policy_names.h"

int aj_find_own_policy(struct aj_ask *ask, const struct aj_site *site, struct aj_diags *diags)
{
	const char *file = NULL;
	ask->home = aj_home_of_caller(diags->arena);
	ask->own = aj_home_policies(ask->home, diags->arena);
	if (ask->name && !ask->file && aj_policy_names_own(ask->own, ask->name, site, diags, &file) < 0)
		return -1;
	if (file) {
		ask->name = NULL;
		ask->file = file;
	}
	return 0;
}

int aj_choose_policy(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags)
{
	struct aj_ask asked = *ask;
	asked.tree_variable = aj_rootfs_variable();
	if (aj_find_own_policy(&asked, site, diags) < 0 || aj_policy_load(loaded, site, &asked, diags) < 0)
		return -1;
	return aj_python_env_use(loaded, site, diags);
}
