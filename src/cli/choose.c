/* From options to a loaded policy: the site's configuration first, then the policy, the working directory's, the options.
 * It prints every finding, not the first, and lets nothing run while there is one. */
#include <stdio.h>

#include "cli/findings.h"
#include "cli/options.h"
#include "run/choose.h"

int aj_options_load(struct aj_options *o, int command, struct aj_error *err)
{
	struct aj_diags diags = { .arena = o->arena };
	if (aj_site_load(&o->site, o->config, &diags) == 0) {
		if (!o->ask.name && !o->ask.file)
			o->ask.name = command == AJ_FOR_RUN ? o->site.default_run : o->site.default_exec;
		o->ask.local = AJ_LOCAL_FILE;
		aj_choose_policy(&o->loaded, &o->site, &o->ask, &diags);
	}
	if (diags.errors == 0)
		return 0;
	fflush(stdout);
	aj_findings_print(&diags, stderr);
	return aj_fail(err, AJ_EXIT_USAGE, "policy", 0, "%zu %s: nothing ran", diags.errors, diags.errors == 1 ? "error" : "errors");
}
