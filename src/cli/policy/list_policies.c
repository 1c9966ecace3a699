/* `agentjail policy list`: prints the names that --policy takes, each with its file.
 * It loads each policy as a run would, and lists one that cannot be loaded with its error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/policy/policycmd.h"
#include "cli/terminal/findings.h"
#include "policy/host/home.h"

const char *aj_policy_where(const struct aj_loaded *loaded)
{
	const struct aj_policy_file *own = loaded->policy.files.items;
	return loaded->policy.files.count == 0 ? NULL : own->built_in ? "built-in" : own->file;
}

struct entry {
	const char *name, *from, *description, *of;
	struct aj_diags diags;
};

static json_t *entry_json(const struct entry *e, const struct aj_site *site)
{
	json_t *defaults = json_array();
	if (strcmp(e->name, site->default_exec) == 0)
		json_array_append_new(defaults, json_string("exec"));
	if (strcmp(e->name, site->default_run) == 0)
		json_array_append_new(defaults, json_string("run"));
	return json_pack("{s:s, s:s*, s:s, s:o, s:b, s:o}", "name", e->name, "from", e->from, "description", e->description,
	                 "default_of", defaults, "ok", e->diags.errors == 0, "findings", aj_findings_json(&e->diags));
}

static void print_entry(const struct entry *e, int name_width, int from_width)
{
	printf("%s %-*s  %-*s  %-8s  %s\n", *e->of ? "*" : " ", name_width, e->name, from_width, e->from ? e->from : "?", e->of,
	       e->diags.errors ? "cannot be loaded:" : e->description);
	fflush(stdout);
	if (e->diags.errors)
		aj_findings_print(&e->diags, stdout);
}

int aj_policy_list(struct aj_policy_args *args, struct aj_error *err)
{
	aj_policy_names names = { 0 };
	size_t broken = 0, name_width = 4, from_width = 4;
	if (aj_policy_site(args, err) < 0)
		return -1;
	const struct aj_site *site = &args->options.site;
	const char *own = site->files ? aj_home_policies(aj_home_of_caller(args->arena), args->arena) : NULL;
	if (aj_policy_names_find(site, args->arena, &names, err) < 0 ||
	    (own && aj_policy_names_in(own, args->arena, &names, err) < 0))
		return -1;
	struct entry *all = aj_alloc(args->arena, names.count * sizeof *all + 1);
	for (size_t i = 0; i < names.count; i++) {
		struct entry *e = &all[i];
		struct aj_loaded loaded;
		*e = (struct entry){ .name = names.items[i], .diags = { .arena = args->arena } };
		bool exec = strcmp(e->name, site->default_exec) == 0, run = strcmp(e->name, site->default_run) == 0;
		e->of = exec && run ? "exec,run" : exec ? "exec" : run ? "run" : "";
		broken += aj_policy_alone(args, &(struct aj_policy_word){ .name = e->name }, &loaded, &e->diags) < 0;
		const char *from = aj_policy_where(&loaded);
		e->from = from ? aj_line(args->arena, from) : NULL;
		e->description = aj_line(args->arena, loaded.policy.description);
		name_width = strlen(e->name) > name_width ? strlen(e->name) : name_width;
		from_width = e->from && strlen(e->from) > from_width ? strlen(e->from) : from_width;
	}
	json_t *doc = args->options.json ? json_array() : NULL;
	if (!doc)
		printf("  %-*s  %-*s  %-8s  %s\n", (int)name_width, "name", (int)from_width, "from", "default", "description");
	for (size_t i = 0; i < names.count; i++) {
		if (doc)
			json_array_append_new(doc, entry_json(&all[i], site));
		else
			print_entry(&all[i], (int)name_width, (int)from_width);
	}
	if (doc)
		aj_json_print(doc);
	return broken ? AJ_EXIT_USAGE : 0;
}
