/* Compiles the modules of an environment in jails, a part in each, and takes over the files that they leave.
 * A jail has written those: only files of the expected names go beside modules that exist. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/tree/remove.h"
#include "cli/env/envcmd.h"
#include "policy/host/paths.h"

enum { PART_FILES = 2500, PARTS_MAX = 64 };

static const char policy[] = "description = \"compiles the modules of an environment\"\nextends = \"snippet\"\n"
			     "[python]\nlayer = false\nfiles = [\"/\"]\n"
			     "[filesystem]\nbinds = [\"%s:/env:ro\"]\ntmp_size = \"1G\"\ntmp_files = 20000\n"
			     "[limits]\nwall = \"10m\"\ncpu = \"10m\"\nmemory = \"2G\"\n"
			     "[output]\nfiles = \"1G\"\nfiles_count = 10000\n";

static size_t count_modules(int folder)
{
	size_t count = 0;
	cleanup_listing struct aj_listing entries = aj_listing_take(folder);
	for (const struct dirent *e; (e = aj_listing_next(&entries));) {
		size_t bytes = strlen(e->d_name);
		if (e->d_type == DT_DIR)
			count += count_modules(openat(dirfd(entries.dir), e->d_name,
			                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
		else
			count += bytes > 3 && strcmp(e->d_name + bytes - 3, ".py") == 0;
	}
	return count;
}

/* Move the bytecode of one folder; `to` is that folder of the site. */
static size_t take_folder(int from, int to)
{
	size_t taken = 0;
	cleanup_listing struct aj_listing entries = aj_listing_take(from);
	for (const struct dirent *e; to >= 0 && (e = aj_listing_next(&entries));) {
		bool cache = strcmp(e->d_name, "__pycache__") == 0;
		if (e->d_type == DT_DIR) {
			if (cache)
				mkdirat(to, e->d_name, 0755);
			cleanup_fd int below = openat(to, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			taken += take_folder(openat(dirfd(entries.dir), e->d_name,
			                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			                     below);
		} else if (e->d_type == DT_REG && strstr(e->d_name, ".cpython-")) {
			taken += renameat(dirfd(entries.dir), e->d_name, to, e->d_name) == 0;
		}
	}
	return taken;
}

static size_t compile_part(const char *folder, const char *file, size_t part, size_t parts, const struct aj_env_target *target,
                           struct aj_arena *arena)
{
	const char *out = aj_printf(arena, "%s/compiled", folder);
	const char *const words[] = { aj_own_path(arena),
		                      "exec",
		                      "--policy-file",
		                      file,
		                      "--rootfs",
		                      target->rootfs,
		                      "--output",
		                      out,
		                      "--json",
		                      "--input",
		                      aj_printf(arena, "part=[%zu,%zu]", part, parts),
		                      "-c",
		                      aj_env_bytecode_script,
		                      NULL };
	aj_env_run(words, -1, -1);
	int from = open(out, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int to = open(aj_printf(arena, "%s/site", folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t taken = from < 0 ? 0 : take_folder(from, to);
	cleanup_fd int around = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	aj_tree_remove(around, "compiled");
	return taken;
}

bool aj_env_compile(const char *folder, const struct aj_env_target *target, struct aj_arena *arena)
{
	const char *file = aj_printf(arena, "%s/compile.toml", folder), *site = aj_printf(arena, "%s/site", folder);
	size_t modules = count_modules(open(site, O_RDONLY | O_DIRECTORY | O_CLOEXEC)), parts = 1 + modules / PART_FILES,
	       taken = 0;
	FILE *out = fopen(file, "we");
	if (!out)
		return false;
	fprintf(out, policy, site);
	fclose(out);
	for (size_t i = 0; i < parts && parts <= PARTS_MAX && !aj_env_interrupted(); i++)
		taken += compile_part(folder, file, i, parts, target, arena);
	unlink(file);
	return taken || !modules;
}
