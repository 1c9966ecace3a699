/* Finds the names of policies: the files of the site's folders, and the built-in policies.
 * It reads names alone: a policy that is listed may still fail to load. */
#include "policy/load/policy_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/toml/source.h"

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

int aj_policy_names_in(const char *folder, struct aj_arena *arena, aj_policy_names *ret, struct aj_error *err)
{
	cleanup_listing struct aj_listing entries = aj_listing_open(folder);
	for (const struct dirent *e; (e = aj_listing_next(&entries));) {
		size_t bytes = strlen(e->d_name);
		if (bytes <= 5 || strcmp(e->d_name + bytes - 5, ".toml") != 0)
			continue;
		const char *name = aj_strndup(arena, e->d_name, bytes - 5);
		if (aj_policy_name_valid(name)) /* options accept only valid names */
			add_name(arena, ret, name);
	}
	if (!entries.error || entries.error == ENOENT || entries.error == ENOTDIR)
		return 0;
	return aj_fail(err, AJ_EXIT_SETUP, "policy", entries.error, "list the policies in `%s`", folder);
}

int aj_policy_names_find(const struct aj_site *site, struct aj_arena *arena, aj_policy_names *ret, struct aj_error *err)
{
	int r = 0;
	for (size_t i = 0; i < site->path.count; i++)
		r |= aj_policy_names_in(site->path.items[i], arena, ret, err);
	for (const struct aj_builtin *b = aj_builtins; b->name; b++)
		if (strcmp(b->name, AJ_BUILTIN_SITE) != 0)
			add_name(arena, ret, b->name);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof *ret->items, by_name);
	return r;
}

/* A folder of the site's that can be searched, but not listed, still has its policies. */
static bool is_known(const struct aj_site *site, const char *name, struct aj_arena *arena)
{
	for (size_t i = 0; i < site->path.count; i++) {
		const char *file = aj_printf(arena, "%s/%s.toml", site->path.items[i], name);
		if (access(file, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR))
			return true;
	}
	for (const struct aj_builtin *b = aj_builtins; b->name; b++)
		if (strcmp(b->name, name) == 0)
			return true;
	return false;
}

int aj_policy_names_own(const char *folder, const char *name, const struct aj_site *site, struct aj_diags *diags,
                        const char **ret)
{
	const char *own = folder && aj_policy_name_valid(name) ? aj_printf(diags->arena, "%s/%s.toml", folder, name) : NULL;
	*ret = NULL;
	if (!own || access(own, F_OK) < 0 || is_known(site, name, diags->arena))
		return 0;
	/* The target of a symlink may be in a workspace, and written by an earlier run. */
	cleanup_fd int fd = aj_beneath_open(AT_FDCWD, own, O_PATH);
	if (fd < 0) {
		const struct aj_origin at = { .file = own, .line = 1, .column = 1 };
		bool link = errno == ELOOP;
		aj_diag_error(diags, &at, AJ_E_EXTENDS, "the policy is not used: %s",
		              link ? "a component of its path is a symlink, whose target an earlier run may have chosen"
		                   : strerrordesc_np(errno));
		aj_diag_advise(diags, "--policy-file names the file itself");
		return -1;
	}
	*ret = own;
	return 0;
}
