/* `agentjail policy check`: prints every error and lint warning of the policies named, or of all.
 * It checks policies as they are: without the working directory's, without options. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/policy/policycmd.h"
#include "cli/terminal/findings.h"

enum { CLEAN = 0, WARNINGS = 1, ERRORS = 2 };

/* A file's name may be any bytes; JSON holds UTF-8 only. */
static const char *utf8_text(struct aj_arena *arena, const char *text)
{
	return !text || aj_utf8_valid_prefix(text, strlen(text)) == strlen(text) ? text : aj_line(arena, text);
}

static int check_policy(struct aj_policy_args *args, const struct aj_policy_word *word, json_t *doc)
{
	struct aj_diags diags = { .arena = args->arena };
	struct aj_loaded loaded;
	aj_policy_alone(args, word, &loaded, &diags);
	aj_policy_lint(&loaded, &diags);
	const char *file = aj_policy_where(&loaded), *name = loaded.policy.name;
	if (doc) {
		json_array_append_new(doc, json_pack("{s:s, s:s*, s:s*, s:b, s:o}", "name", utf8_text(args->arena, name), "file",
		                                     file ? file : utf8_text(args->arena, word->file), "sha256",
		                                     file ? loaded.policy.files.items[0].sha256 : NULL, "ok", diags.errors == 0,
		                                     "findings", aj_findings_json(&diags)));
	} else {
		aj_findings_print(&diags, stdout);
		printf("%s: ", aj_line(args->arena, name));
		if (diags.errors + diags.warnings)
			printf("%zu error%s, %zu warning%s\n", diags.errors, diags.errors == 1 ? "" : "s", diags.warnings,
			       diags.warnings == 1 ? "" : "s");
		else
			printf("clean\n");
	}
	return diags.errors ? ERRORS : diags.warnings ? WARNINGS : CLEAN;
}

int aj_policy_check(struct aj_policy_args *args, struct aj_error *err)
{
	int worst = CLEAN;
	if (args->codes) {
		aj_codes_text(stdout);
		return 0;
	}
	if (aj_policy_site(args, err) < 0)
		return -1;
	if (args->policies.count == 0) {
		aj_policy_names names = { 0 };
		if (aj_policy_names_find(&args->options.site, args->arena, &names, err) < 0)
			return -1;
		for (size_t i = 0; i < names.count; i++)
			AJ_PUSH(args->arena, &args->policies)->name = names.items[i];
	}
	json_t *doc = args->options.json ? json_array() : NULL;
	for (size_t i = 0; i < args->policies.count; i++) {
		int found = check_policy(args, &args->policies.items[i], doc);
		worst = found > worst ? found : worst;
	}
	if (doc)
		aj_json_print(doc);
	return worst;
}
