/* Loads a policy for a run: an environment variable counts as the option that it stands for, and a name that neither the site nor
 * agentjail has is a file of the caller's own folder of policies.
 * It does not decide which settings a variable may change: the code of the options does. */
#include "jail/load_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
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

int aj_find_own_policy(struct aj_ask *ask, const struct aj_site *site, struct aj_diags *diags)
{
	struct aj_arena *arena = diags->arena;
	const char *folder = ask->name && !ask->file && aj_policy_name_valid(ask->name) ? aj_home_policies(arena) : NULL;
	const char *own = folder ? aj_printf(arena, "%s/%s.toml", folder, ask->name) : NULL;
	if (!own || access(own, F_OK) < 0 || is_known(site, ask->name, arena))
		return 0;
	/* What lies behind a symlink may be in a workspace, where an earlier run has written it. */
	cleanup_fd int fd = aj_beneath_open(AT_FDCWD, own, O_PATH);
	if (fd < 0) {
		aj_diag_error(diags, &(struct aj_origin){ .file = own, .line = 1, .column = 1 }, AJ_E_EXTENDS,
		              "the policy is not taken: %s",
		              errno == ELOOP ? "it is behind a symlink, and an earlier run may have chosen where that leads"
		                             : strerrordesc_np(errno));
		aj_diag_advise(diags, "--policy-file names the file itself");
		return -1;
	}
	ask->name = NULL;
	ask->file = own;
	return 0;
}

int aj_choose_policy(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags)
{
	struct aj_ask asked = *ask;
	asked.tree_variable = aj_rootfs_variable();
	return aj_find_own_policy(&asked, site, diags) < 0 ? -1 : aj_policy_load(loaded, site, &asked, diags);
}
