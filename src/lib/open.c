/* From a caller's options to a handle: copies all of them, and finds the library's folder.
 * Reads no policy from the working directory: a program's rights must not depend on where it was started. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api_inner.h"
#include "policy/host/paths.h"
#include "policy/keys.h"
#include "sandbox/mediate/violations.h"

/* Finds the file that holds this function, in /proc/self/maps. */
static void find_ourselves(void)
{
	char line[4300];
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof line, maps)) {
		unsigned long from, to;
		char *path = strchr(line, '/'), *slash = strrchr(line, '/');
		if (!path || sscanf(line, "%lx-%lx", &from, &to) != 2 || (unsigned long)&find_ourselves - from >= to - from)
			continue;
		slash[slash == path] = '\0';
		aj_paths_library(path);
		break;
	}
	if (maps)
		fclose(maps);
}

static int add_setting(struct aj_ask *ask, struct aj_arena *arena, const char *text, struct aj_error *err)
{
	struct aj_policy scratch = { 0 };
	const char *eq = strchr(text, '=');
	const char *name = eq ? aj_strndup(arena, text, (size_t)(eq - text)) : text;
	const struct aj_key *key = eq ? aj_key_find(aj_policy_keys, name) : NULL;
	if (!key)
		return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "`%s` is not KEY=VALUE with a key of a policy", text);
	const char *value = aj_strdup(arena, eq + 1), *wrong = aj_key_set_text(key, &scratch, arena, value);
	if (wrong)
		return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "`%s`: %s", text, wrong);
	/* The setting's name in results, the audit trail and errors: its only identification. */
	const char *option = aj_printf(arena, ".settings %s", key->name);
	*AJ_PUSH(arena, &ask->settings) = (struct aj_setting){ .option = option, .key = key->name, .value = value };
	return 0;
}

static const char *copy_text(struct aj_arena *arena, const char *text)
{
	return text ? aj_strdup(arena, text) : NULL;
}

/* A folder, never the name of a Python tree: `default` here means ./default. */
static const char *folder_text(struct aj_arena *arena, const char *folder)
{
	return strchr(folder, '/') ? copy_text(arena, folder) : aj_printf(arena, "./%s", folder);
}

static agentjail *open_with(const struct agentjail_options *theirs, struct aj_error *err)
{
	struct agentjail_options o;
	struct aj_ask ask = { 0 };
	struct aj_arena arena = { 0 };
	agentjail *h = NULL;
	if (aj_lib_take(&o, sizeof o, theirs, "agentjail_options", err) < 0)
		return NULL;
	if (o.policy && o.policy_file)
		aj_fail(err, AJ_EXIT_USAGE, "options", 0, "both .policy and .policy_file are given");
	else if (o.policy && !aj_policy_name_valid(o.policy))
		aj_fail(err, AJ_EXIT_USAGE, "options", 0, "`%s` is not a policy's name; a file is named with .policy_file",
		        o.policy);
	ask.name = copy_text(&arena, o.policy);
	ask.file = copy_text(&arena, o.policy_file);
	for (size_t i = 0; o.settings && o.settings[i] && !err->exit_code; i++)
		add_setting(&ask, &arena, o.settings[i], err);
	if (o.rootfs)
		*AJ_PUSH(&arena, &ask.settings) = (struct aj_setting){
			.option = ".rootfs",
			.key = "filesystem.rootfs",
			.value = folder_text(&arena, o.rootfs),
			.request_only = true,
		};
	struct aj_manager_config config = { .site = copy_text(&arena, o.config),
		                            .rootfs = copy_text(&arena, o.rootfs),
		                            .cgroup = copy_text(&arena, o.cgroup),
		                            .parked = o.parked,
		                            .jails_max = o.jails_max,
		                            .idle_ms = o.idle_ms,
		                            .lifetime_ms = o.lifetime_ms,
		                            .log = o.log,
		                            .log_arg = o.log_arg };
	if (!err->exit_code)
		h = aj_lib_open(&config, &ask, copy_text(&arena, o.tenant), copy_text(&arena, o.workspace), err);
	if (h)
		h->arena = arena;
	else
		aj_arena_free(&arena);
	return h;
}

agentjail *agentjail_open(const struct agentjail_options *options, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	aj_violations_leave_signals();
	find_ourselves();
	agentjail *h = open_with(options, &err);
	if (!h)
		aj_lib_refuse(&err, ret_err);
	return h;
}
