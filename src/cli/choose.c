/* From options to a loaded policy: the site's configuration first, then the policy, the working directory's, the options.
 * It prints every finding, not the first, and lets nothing run while there is one. */
#include <stdio.h>

#include "cli/findings.h"
#include "cli/options.h"
#include "run/paths.h"

/* AGENTJAIL_ROOTFS says where the tree `default` is; where the site keeps that to itself, it would be an option by another door. */
static void check_environment(const struct aj_options *o, struct aj_diags *diags)
{
	size_t k = (size_t)(aj_key_find(aj_policy_keys, "filesystem.rootfs") - aj_policy_keys);
	struct aj_origin at = { "AGENTJAIL_ROOTFS", 0, 0 };
	if (!o->site.locked[k] || !aj_rootfs_by_environment(&o->request, o->loaded.policy.rootfs, o->site.rootfs))
		return;
	aj_diag_error(diags, &at, AJ_E_LOCKED, "the variable names the Python tree, and %s locks filesystem.rootfs",
	              aj_origin_text(&o->site.locked_at, o->arena));
	aj_diag_advise(diags, "unset it; a site says with rootfs.path where its trees are");
}

int aj_options_load(struct aj_options *o, int command, struct aj_error *err)
{
	struct aj_diags diags = { .arena = o->arena };
	if (aj_site_load(&o->site, o->config, &diags) == 0) {
		if (!o->ask.name && !o->ask.file)
			o->ask.name = command == AJ_FOR_RUN ? o->site.default_run : o->site.default_exec;
		o->ask.local = AJ_LOCAL_FILE;
		if (aj_policy_load(&o->loaded, &o->site, &o->ask, &diags) == 0)
			check_environment(o, &diags);
	}
	if (diags.errors == 0)
		return 0;
	fflush(stdout);
	aj_findings_print(&diags, stderr);
	return aj_fail(err, AJ_EXIT_USAGE, "policy", 0, "%zu %s: nothing ran", diags.errors, diags.errors == 1 ? "error" : "errors");
}
