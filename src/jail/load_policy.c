/* Loads a policy for a run: an environment variable counts as the option that it stands for.
 * Has no opinion of its own: what a variable may change is decided where options are. */
#include "jail/load_policy.h"

#include "plan/paths.h"

int aj_choose_policy(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags)
{
	struct aj_ask asked = *ask;
	asked.tree_variable = aj_rootfs_variable();
	return aj_policy_load(loaded, site, &asked, diags);
}
