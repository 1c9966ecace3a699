/* `agentjail env list|show|path|verify`: what environments there are, and what is in one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/listing.h"
#include "cli/env/envcmd.h"
#include "cli/manifest.h"
#include "cli/terminal/findings.h"
#include "policy/item_types.h"

static const char *text(const json_t *object, const char *name, struct aj_arena *arena)
{
	const char *value = json_string_value(json_object_get(object, name));
	return value ? aj_line(arena, value) : "-";
}

static double mebibytes(const json_t *object)
{
	return (double)json_integer_value(json_object_get(object, "size")) / (1 << 20);
}

static void print_json(const json_t *doc)
{
	json_dumpf(doc, stdout, JSON_COMPACT);
	putchar('\n');
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int aj_env_list(const struct aj_env_args *args, struct aj_error *err)
{
	AJ_LIST(const char *) names = { 0 };
	int all = aj_env_open_all(false);
	if (all < 0 && errno != ENOENT)
		return aj_fail(err, AJ_EXIT_SETUP, "env", errno,
		               "open the folder of environments, $XDG_DATA_HOME/agentjail/envs");
	cleanup_listing struct aj_listing entries = aj_listing_take(all);
	for (const struct dirent *e; all >= 0 && (e = aj_listing_next(&entries));)
		if (aj_policy_name_valid(e->d_name))
			*AJ_PUSH(args->arena, &names) = aj_strdup(args->arena, e->d_name);
	if (names.count)
		qsort(names.items, names.count, sizeof *names.items, by_text);
	json_t *list = json_array();
	for (size_t i = 0; i < names.count; i++) {
		const char *path;
		struct aj_error damaged = { 0 };
		json_t *env = aj_env_read(names.items[i], args->arena, &path, &damaged);
		if (!env)
			aj_print_error(&damaged);
		else if (args->json)
			json_array_append(list, env);
		else
			printf("%-20s Python %-5s %3zu packages %8.1f MiB  %s\n", names.items[i],
			       text(env, "python", args->arena), json_array_size(json_object_get(env, "packages")),
			       mebibytes(env), text(env, "created", args->arena));
		json_decref(env);
	}
	if (args->json)
		print_json(list);
	else if (!names.count)
		fprintf(stderr, "agentjail: there are no environments; `agentjail env create NAME --packages ...` makes one\n");
	json_decref(list);
	return 0;
}

int aj_env_show(const struct aj_env_args *args, struct aj_error *err)
{
	const char *path;
	json_t *env = aj_env_read(args->name, args->arena, &path, err), *row;
	size_t i;
	if (!env)
		return -1;
	if (args->json) {
		print_json(env);
	} else {
		printf("%s: Python %s, %.1f MiB, made %s by %s\n\n", path, text(env, "python", args->arena), mebibytes(env),
		       text(env, "created", args->arena), text(env, "installer", args->arena));
		json_array_foreach(json_object_get(env, "packages"), i, row)
			printf("%-28s %-18s %8.1f MiB  %s\n", text(row, "name", args->arena), text(row, "version", args->arena),
			       mebibytes(row), text(row, "licence", args->arena));
		printf("\nimports:");
		json_array_foreach(json_object_get(env, "imports"), i, row)
			printf(" %s", aj_line(args->arena, json_string_value(row)));
		printf("\n");
	}
	json_decref(env);
	return 0;
}

int aj_env_path(const struct aj_env_args *args, struct aj_error *err)
{
	const char *path;
	json_t *env = aj_env_read(args->name, args->arena, &path, err);
	if (env)
		printf("%s/site\n", path);
	json_decref(env);
	return env ? 0 : -1;
}

int aj_env_verify(const struct aj_env_args *args, struct aj_error *err)
{
	const char *path;
	json_t *env = aj_env_read(args->name, args->arena, &path, err);
	json_decref(env);
	return env ? aj_manifest_verify(path, "site", err) : -1;
}
