/* Finds the files of the program or the library, in the build tree or where `make install` put them.
 * It never looks in the working directory: an agent may have written the files there. */
#include "policy/host/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/policy.h"

static bool has_python(struct aj_arena *arena, const char *dir)
{
	return access(aj_printf(arena, "%s/tree/usr/bin/python3", dir), X_OK) == 0;
}

/* Relative to the program or the library: in a build tree; in the layout of `make install`, where a distribution may add a folder
 * for its architecture; and in that of the wheel. */
static const char *const places[] = { "rootfs", "../lib/agentjail/rootfs", "agentjail/rootfs", "../agentjail/rootfs",
	                              "../libexec/agentjail/rootfs" };

static char library[PATH_MAX];

void aj_paths_library(const char *folder)
{
	if (strlen(folder) < sizeof library)
		strcpy(library, folder);
}

const char *aj_own_path(struct aj_arena *arena)
{
	char path[PATH_MAX];
	if (library[0])
		return library;
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	return n > 0 ? aj_strndup(arena, path, (size_t)n) : NULL;
}

/* The running program's folder, or the library's. */
static const char *own_folder(struct aj_arena *arena)
{
	const char *path = aj_own_path(arena);
	return !path || library[0] ? path : aj_strndup(arena, path, (size_t)(strrchr(path, '/') - path));
}

const char *aj_find_helper(const char *name, struct aj_arena *arena)
{
	static const char *const folders[] = { "", "/../lib/agentjail" };
	const char *own = own_folder(arena);
	for (size_t i = 0; own && i < sizeof folders / sizeof *folders; i++) {
		const char *path = aj_printf(arena, "%s%s/%s", own, folders[i], name);
		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

static const char *beside_program(struct aj_arena *arena, const char *name)
{
	const char *own = own_folder(arena);
	for (size_t i = 0; own && i < sizeof places / sizeof *places; i++) {
		const char *dir = aj_printf(arena, "%s/%s/%s", own, places[i], name);
		if (has_python(arena, dir))
			return dir;
	}
	return NULL;
}

const char *aj_rootfs_variable(void)
{
	return secure_getenv(AJ_TREE_VARIABLE);
}

int aj_find_rootfs(const char **rootfs, const char *name, const char *path, struct aj_arena *arena, struct aj_error *err)
{
	const char *tree = *rootfs;
	if (!tree && *path)
		tree = aj_printf(arena, "%s/%s", path, name);
	if (!tree && strcmp(name, "default") == 0)
		tree = aj_rootfs_variable();
	if (tree) {
		char *real = realpath(tree, NULL);
		if (!real)
			return aj_fail(err, AJ_EXIT_SETUP, "rootfs", errno, "`%s`", tree);
		*rootfs = aj_strdup(arena, real);
		free(real);
		if (has_python(arena, *rootfs))
			return 0;
		aj_fail(err, AJ_EXIT_SETUP, "rootfs", 0, "`%s` contains no tree/usr/bin/python3", *rootfs);
	} else {
		*rootfs = beside_program(arena, name);
		if (*rootfs)
			return 0;
		aj_fail(err, AJ_EXIT_SETUP, "rootfs", 0,
		        "no Python tree `%s` is beside the %s (rootfs/%s, ../lib/agentjail/rootfs/%s)", name,
		        library[0] ? "library" : "program", name, name);
	}
	aj_advise(err, "build the tree with `make rootfs`, or name a folder with %s",
	          library[0] ? "`.rootfs` or $AGENTJAIL_ROOTFS" : "--rootfs DIR");
	return -1;
}
