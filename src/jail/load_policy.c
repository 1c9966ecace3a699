/* Loads a policy for a run: an environment variable counts as the option that it stands for.
 * It does not decide which settings a variable may change: the code of the options does. */
#include "jail/load_policy.h"

#include "host/paths.h"

int aj_choose_policy(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags)
{
	struct aj_ask asked = *ask;
	asked.tree_variable = aj_rootfs_variable();
	return aj_policy_load(loaded, site, &asked, diags);
}
