/* From options to a loaded policy: the site's configuration first, then the policy, the working directory's, the options.
 * It prints every finding, not only the first, and returns an error while there is one, so that nothing runs. */
#include <stdio.h>

#include "cli/options.h"
#include "jail/load_policy.h"
#include "terminal/findings.h"

void aj_options_report_local(const struct aj_loaded *loaded, struct aj_arena *arena)
{
	const char *path = loaded->local ? aj_line(arena, loaded->local_path) : NULL;
	if (loaded->local == AJ_LOCAL_USED)
		fprintf(stderr, "agentjail: policy: using %s\n", path);
	else if (loaded->local == AJ_LOCAL_LEFT)
		fprintf(stderr, "agentjail: policy: not using %s: --local-policy asks for it\n", path);
	else if (loaded->local == AJ_LOCAL_WITHIN)
		fprintf(stderr, "agentjail: policy: not using %s: it lies below %s, which the jail may write\n", path,
		        aj_line(arena, loaded->local_within));
}

int aj_options_load(struct aj_options *o, int command, struct aj_error *err)
{
	struct aj_diags diags = { .arena = o->arena };
	if (aj_site_load(&o->site, o->config, &diags) == 0) {
		if (!o->ask.name && !o->ask.file)
			o->ask.name = command == AJ_FOR_RUN ? o->site.default_run : o->site.default_exec;
		o->ask.local = AJ_LOCAL_FILE;
		o->ask.workspace = o->request.workspace;
		aj_choose_policy(&o->loaded, &o->site, &o->ask, &diags);
	}
	if (diags.errors == 0) {
		aj_options_report_local(&o->loaded, o->arena);
		return 0;
	}
	fflush(stdout);
	aj_findings_print(&diags, stderr);
	return aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0, "%zu %s: nothing ran", diags.errors,
	                       diags.errors == 1 ? "error" : "errors");
}
