/* From options to a loaded policy: the site's configuration first, then the policy, the working directory's, the options.
 * It prints every finding, not only the first, and returns an error while there is one, so that nothing runs. */
#include <stdio.h>
#include <string.h>

#include "cli/options/options.h"
#include "cli/terminal/findings.h"
#include "policy/host/choose_policy.h"
#include "policy/host/home.h"
#include "policy/load/policy_names.h"
#include "policy/plan/plan.h"

void aj_options_report_local(const struct aj_loaded *loaded, struct aj_arena *arena)
{
	const char *path = loaded->local ? aj_line(arena, loaded->local_path) : NULL;
	if (loaded->local == AJ_LOCAL_USED)
		fprintf(stderr, "agentjail: policy: using %s\n", path);
	else if (loaded->local == AJ_LOCAL_LEFT)
		fprintf(stderr, "agentjail: policy: not using %s: --local-policy would use it\n", path);
	else if (loaded->local == AJ_LOCAL_WITHIN)
		fprintf(stderr, "agentjail: policy: not using %s: it lies below %s, which the jail may write\n", path,
		        aj_line(arena, loaded->local_within));
}

int aj_options_load(struct aj_options *o, int command, struct aj_error *err)
{
	struct aj_diags diags = { .arena = o->arena }, warnings = { .arena = o->arena };
	if (aj_site_load(&o->site, o->config, &diags) == 0) {
		if (!o->ask.name && !o->ask.file)
			o->ask.name = o->mcp ? "mcp-server" : command == AJ_FOR_RUN ? o->site.default_run : o->site.default_exec;
		o->ask.local = AJ_LOCAL_FILE;
		o->ask.workspace = o->request.workspace;
		aj_choose_policy(&o->loaded, &o->site, &o->ask, &diags);
	}
	if (diags.errors == 0) {
		aj_options_report_local(&o->loaded, o->arena);
		/* A policy's modules are for `policy check`; an option is seen by no other command. */
		if (!o->json)
			aj_policy_lint_modules(&o->loaded, "--allow-import", &warnings);
		aj_findings_print(&warnings, stderr);
		return 0;
	}
	fflush(stdout);
	aj_findings_print(&diags, stderr);
	if ((o->json || o->mcp) && diags.list.count) { /* the one error of the result names a finding */
		const struct aj_diag *d = &diags.list.items[0];
		aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0, "%s: %s: %s", aj_origin_text(&d->at, o->arena),
		                d->code, d->message);
		if (d->advice)
			aj_advise(err, "%s", d->advice);
		return -1;
	}
	return aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0, "%zu %s: the run was refused", diags.errors,
	                       diags.errors == 1 ? "error" : "errors");
}

/* The policies for which --workspace means something here: "--policy a has one", or "a, b have one (--policy NAME)". NULL:
 * none. */
static const char *with_a_workspace(struct aj_options *o, int command)
{
	const char *list = NULL;
	size_t found = 0;
	const char *home = aj_home_of_caller(o->arena);
	aj_policy_names names = { 0 };
	struct aj_error ignored = { 0 }; /* advice may name fewer policies */
	aj_policy_names_find(&o->site, o->arena, &names, &ignored);
	for (size_t i = 0; i < names.count; i++) {
		struct aj_diags diags = { .arena = o->arena };
		struct aj_loaded loaded;
		if (aj_policy_load(&loaded, &o->site, &(struct aj_ask){ .name = names.items[i], .home = home }, &diags) < 0 ||
		    loaded.policy.workspace == AJ_WORKSPACE_NONE ||
		    (command == AJ_FOR_RUN ? !loaded.policy.exec : strcmp(loaded.policy.rootfs, "host") == 0))
			continue;
		list = aj_printf(o->arena, "%s%s%s", list ? list : "", list ? ", " : "", names.items[i]);
		found++;
	}
	return !list      ? NULL
	     : found == 1 ? aj_printf(o->arena, "--policy %s has one", list)
	                  : aj_printf(o->arena, "%s have one (--policy NAME)", list);
}

int aj_options_check_workspace(struct aj_options *o, int command, struct aj_error *err)
{
	if (!o->request.workspace || o->loaded.policy.workspace != AJ_WORKSPACE_NONE)
		return 0;
	size_t key = aj_key_index("filesystem.workspace");
	const char *others = with_a_workspace(o, command), *first;
	if (o->loaded.locked[key] || o->site.locked[key])
		first = "the policy's owner has locked that: take another policy";
	else if (command & AJ_FOR_BOTH)
		first = "--workspace-mode ro shows it under this policy; so does rw, and lets the jail change it";
	else
		first = aj_printf(o->arena,
		                  "a file with `extends = \"%s\"` and `filesystem.workspace = \"read-only\"` has one (--policy-file)",
		                  o->loaded.policy.name);
	aj_fail(err, AJ_EXIT_USAGE, "workspace", 0, "policy `%s` has no workspace, so `%s` would not be shown",
	        o->loaded.policy.name, o->request.workspace);
	aj_advise(err, "%s%s%s%s", first, others ? "; " : "", others ? others : "",
	          command == AJ_FOR_RUN ? "; --bind DIR:/dir shows a folder under any policy" : "");
	return -1;
}
