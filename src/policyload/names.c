/* Finds the names of policies: the files of the site's folders, and the built-in policies.
 * It reads names alone: a policy that is listed may still fail to load. */
#include "policyload/names.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "toml/source.h"

static void add_name(struct aj_arena *arena, aj_policy_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i], name) == 0)
			return;
	*AJ_PUSH(arena, names) = name;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void aj_policy_names_in(const char *folder, struct aj_arena *arena, aj_policy_names *ret)
{
	DIR *dir = opendir(folder);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t bytes = strlen(e->d_name);
		if (bytes <= 5 || strcmp(e->d_name + bytes - 5, ".toml") != 0)
			continue;
		const char *name = aj_strndup(arena, e->d_name, bytes - 5);
		if (aj_policy_name_valid(name)) /* else no option could name it */
			add_name(arena, ret, name);
	}
	if (dir)
		closedir(dir);
}

void aj_policy_names_find(const struct aj_site *site, struct aj_arena *arena, aj_policy_names *ret)
{
	for (size_t i = 0; i < site->path.count; i++)
		aj_policy_names_in(site->path.items[i], arena, ret);
	for (const struct aj_builtin *b = aj_builtins; b->name; b++)
		if (strcmp(b->name, AJ_BUILTIN_SITE) != 0)
			add_name(arena, ret, b->name);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof *ret->items, by_name);
}
