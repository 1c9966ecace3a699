/* Finds on the host a file that a jail does not show: the program that `agentjail run` was to start.
 * It looks, and gives advice; it shows nothing to the jail by itself. */
#include "cli/host_program.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/program.h"
#include "home/toolchains.h"
#include "policy/toolchains.h"

/* The program's own path on the host, by our PATH; NULL: the host has none either. */
static const char *find_on_host(const char *program, struct aj_arena *arena)
{
	char file[PATH_MAX], real[PATH_MAX];
	return aj_program_find(program, file, sizeof file) && realpath(file, real) ? aj_strdup(arena, real) : NULL;
}

/* Would the toolchains that PATH betrays show it? */
static bool in_toolchain(const char *program, struct aj_arena *arena)
{
	struct aj_policy policy = { 0 };
	struct aj_request found = { 0 };
	struct aj_error err = { 0 };
	char file[PATH_MAX];
	*AJ_PUSH(arena, &policy.toolchains) = AJ_TOOLCHAINS_AUTO;
	if (!aj_program_find(program, file, sizeof file) || aj_toolchains_find(&found, &policy, arena, &err) < 0)
		return false;
	for (size_t i = 0; i < found.tools.count; i++)
		if (aj_path_within(file, found.tools.items[i].target))
			return true;
	return false;
}

void aj_host_program_advise(struct aj_error *err, const char *program, struct aj_arena *arena)
{
	const char *file = err->exit_code == AJ_EXIT_NOT_FOUND && !err->fix[0] ? find_on_host(program, arena) : NULL;
	if (!file)
		return;
	if (in_toolchain(program, arena)) {
		aj_advise(err, "the host has it at `%s`: --toolchain auto shows it, and the toolchains on PATH with it", file);
		return;
	}
	const char *folder = aj_strndup(arena, file, (size_t)(strrchr(file, '/') - file));
	if (aj_path_within(file, "/usr"))
		aj_advise(err, "the jail has it at `%s`, which is not on its PATH: name it by that path", file);
	else if (*folder)
		aj_advise(err, "the host has it at `%s`, which the jail does not show: --bind '%s' -- '%s'", file, folder, file);
}
