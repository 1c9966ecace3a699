/* `agentjail policy explain`: keys with value, origin, lock, ceiling, and enforcer on this host; those that something sets
 * first. */
#include "cli/policy/explain.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/terminal/findings.h"
#include "jail/host_ids.h"
#include "jail/result/result.h"
#include "policy/host/paths.h"
#include "workspace/home/imports.h"
#include "workspace/home/kept.h"
#include "workspace/home/network_settings.h"
#include "workspace/home/toolchains.h"
#include "workspace/location.h"
#include "workspace/worktree.h"

/* Build the plan of a run under this policy. A missing Python tree is no error: the answers say that it is missing. */
static int build_plan(struct aj_policy_args *args, struct aj_explained *e, struct aj_error *err)
{
	struct aj_error no_tree = { 0 };
	struct aj_host host;
	struct aj_request *request = &args->options.request;
	char cwd[PATH_MAX];
	if (request->workspace && request->workspace[0] != '/' &&
	    getcwd(cwd, sizeof cwd)) /* a relative path would count as no workspace */
		request->workspace = aj_printf(args->arena, "%s/%s", cwd, request->workspace);
	request->is_snippet = !e->loaded.policy.exec;
	request->inspect = request->may_hold = true;
	request->command.terminal_fd = -1;
	if (strcmp(e->loaded.policy.rootfs, "host") == 0 ||
	    aj_find_rootfs(&request->rootfs, e->loaded.policy.rootfs, args->options.site.rootfs, args->arena, &no_tree) < 0)
		request->rootfs = NULL;
	e->rootfs = request->rootfs;
	if (request->workspace && aj_places_check(request, &e->loaded, &args->options.site, args->arena, err) < 0)
		return -1;
	if (aj_worktree_find(request, &e->loaded, &args->options.site, args->arena, err) < 0)
		return -1;
	/* Kept homes, copies of files and toolchains decide which paths are there. */
	if (!request->is_snippet && (aj_kept_choose(request, &e->loaded.policy, args->arena, err) < 0 ||
	                             aj_imports_read(request, &e->loaded.policy, args->arena, err) < 0 ||
	                             aj_toolchains_find(request, &e->loaded.policy, args->arena, err) < 0))
		return -1;
	aj_network_settings_take(request, &e->loaded.policy, args->arena);
	if (aj_host_gather(&host, args->arena, NULL, err) < 0)
		return -1;
	aj_id_show(&host, &args->options.site);
	return aj_plan_build(&e->plan, args->arena, &e->loaded.policy, request, &host, err);
}

static const struct aj_origin *lock_of(const struct aj_explained *e, const struct aj_site *site, size_t k)
{
	return e->loaded.locked[k] ? &e->loaded.locked_at[k] : site->locked[k] ? &site->locked_at : NULL;
}

static void print_key(const struct aj_explained *e, const struct aj_site *site, size_t k)
{
	const struct aj_key *key = &aj_policy_keys[k];
	const char *standing = aj_key_status(key, &e->loaded.policy);
	const struct aj_origin *lock = lock_of(e, site, k);
	printf("%s = %s\n", key->name, aj_line(e->arena, aj_key_value(key, &e->loaded.policy, e->arena)));
	const char *kind = aj_key_kind(key, &e->loaded.policy);
	bool falls = strcmp(kind, aj_enforcer_kind(key->by)) != 0;
	printf("    from %s; %s: %s", aj_where(&e->loaded.at[k], e->arena), kind, falls ? standing : aj_enforcer_name(key->by));
	if (standing && !falls)
		printf("; %s", standing);
	if (lock)
		printf("; locked by %s", aj_where(lock, e->arena));
	if (site->ceiling_at[k].file)
		printf("; ceiling %s (%s)", aj_line(e->arena, aj_key_value(key, &site->ceilings, e->arena)),
		       aj_where(&site->ceiling_at[k], e->arena));
	printf("\n");
}

static json_t *key_json(const struct aj_explained *e, const struct aj_site *site, size_t k)
{
	const struct aj_key *key = &aj_policy_keys[k];
	const char *standing = aj_key_status(key, &e->loaded.policy);
	const struct aj_origin *lock = lock_of(e, site, k);
	json_t *doc = json_pack("{s:s, s:o, s:o, s:s, s:s, s:s*}", "key", key->name, "value",
	                        aj_key_json(key, &e->loaded.policy, e->arena), "from", aj_origin_json(&e->loaded.at[k]),
	                        "enforcer_kind", aj_key_kind(key, &e->loaded.policy), "enforced_by", aj_enforcer_name(key->by),
	                        "standing", standing);
	if (lock)
		json_object_set_new(doc, "locked_by", aj_origin_json(lock));
	if (site->ceiling_at[k].file)
		json_object_set_new(doc, "ceiling",
		                    json_pack("{s:o, s:o}", "value", aj_key_json(key, &site->ceilings, e->arena), "from",
		                              aj_origin_json(&site->ceiling_at[k])));
	return doc;
}

static void print_json(const struct aj_explained *e, const struct aj_site *site)
{
	json_t *keys = json_array(), *host = json_object();
	for (size_t k = 0; k < aj_policy_key_count; k++)
		json_array_append_new(keys, key_json(e, site, k));
	for (size_t i = 0; i < e->plan.enforced.count; i++)
		json_object_set_new(host, e->plan.enforced.items[i].wall, json_string(e->plan.enforced.items[i].by));
	aj_json_print(json_pack("{s:s, s:o, s:o, s:o}", "policy", e->loaded.policy.name, "files",
	                        aj_files_json(&e->loaded.policy), "keys", keys, "enforced_here", host));
}

/* A key that nothing sets or binds has the program's default. */
static bool is_plain(const struct aj_explained *e, const struct aj_site *site, size_t k)
{
	return !e->loaded.at[k].file && !lock_of(e, site, k) && !site->ceiling_at[k].file;
}

static void print_text(const struct aj_explained *e, const struct aj_site *site, bool all)
{
	size_t plain = 0;
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		if (is_plain(e, site, k))
			plain++;
		else
			print_key(e, site, k);
	}
	if (plain && !all)
		printf("\n%zu more key%s at the default; --all shows the whole policy\n", plain, plain == 1 ? " is" : "s are");
	if (plain && all)
		printf("\nAt the default:\n");
	for (size_t k = 0; k < aj_policy_key_count && all; k++)
		if (is_plain(e, site, k))
			print_key(e, site, k);
	printf("\nOn this host a run would have:\n");
	for (size_t i = 0; i < e->plan.enforced.count; i++)
		printf("    %s: %s\n", e->plan.enforced.items[i].wall, aj_line(e->arena, e->plan.enforced.items[i].by));
}

int aj_policy_explain(struct aj_policy_args *args, struct aj_error *err)
{
	struct aj_explained *e = aj_alloc(args->arena, sizeof *e);
	e->arena = args->arena;
	if (aj_policy_site(args, err) < 0 ||
	    aj_policy_effective(args, args->policies.count ? args->policies.items : NULL, &e->loaded, err) < 0 ||
	    build_plan(args, e, err) < 0)
		return -1;
	if (args->questions.count)
		return aj_explain_questions(e, args);
	if (args->options.json)
		print_json(e, &args->options.site);
	else
		print_text(e, &args->options.site, args->all);
	return 0;
}
