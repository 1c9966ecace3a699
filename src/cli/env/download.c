/* Lets uv, or else pip, resolve, download and unpack the wheels of an environment, with the caller's own configuration: index,
 * credentials, proxies. Only wheels: unpacking one executes nothing of it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "cli/env/envcmd.h"

typedef AJ_LIST(const char *) word_list;

/* The pip of the Python that has the client library, of the first python3 on PATH, or of the system. */
static bool find_pip(word_list *words, struct aj_arena *arena)
{
	const char *own = secure_getenv("AGENTJAIL_PYTHON");
	const char *const pythons[] = { own ? own : "python3", "python3", "/usr/bin/python3" };
	for (size_t i = 0; i < sizeof pythons / sizeof *pythons; i++) {
		const char *const probe[] = { pythons[i], "-m", "pip", "--version", NULL };
		if (aj_env_run(probe, -1, -1) != 0)
			continue;
		for (size_t j = 0; j < 3; j++)
			*AJ_PUSH(arena, words) = probe[j];
		return true;
	}
	return false;
}

static void add(word_list *words, struct aj_arena *arena, const char *first, const char *second)
{
	*AJ_PUSH(arena, words) = first;
	if (second)
		*AJ_PUSH(arena, words) = second;
}

static void add_uv(word_list *words, const struct aj_env_target *target, struct aj_arena *arena)
{
	add(words, arena, "uv", "pip");
	add(words, arena, "install", NULL);
	add(words, arena, "--only-binary", ":all:");
	add(words, arena, "--python-platform", aj_printf(arena, "%s-manylinux_2_%u", target->arch, target->glibc));
	add(words, arena, "--python-version", target->python);
	/* A link to a file of uv's cache would make that file read-only. */
	add(words, arena, "--link-mode", "copy");
}

/* pip matches a platform literally: each version of the C library up to the tree's is named. */
static void add_pip(word_list *words, const struct aj_env_target *target, struct aj_arena *arena)
{
	enum { OLDEST = 5 };
	static const char *const older[] = { "manylinux2014", "manylinux2010", "manylinux1", "linux" };
	const char *digits = aj_strdup(arena, target->python);
	const char *tag = aj_printf(arena, "cp%.*s%s", (int)strcspn(digits, "."), digits, strchr(digits, '.') + 1);
	add(words, arena, "install", "--only-binary=:all:");
	add(words, arena, "--no-compile", "--no-warn-script-location");
	add(words, arena, "--disable-pip-version-check", NULL);
	add(words, arena, "--python-version", target->python);
	add(words, arena, "--implementation", "cp");
	add(words, arena, "--abi", tag);
	add(words, arena, "--abi", "abi3");
	add(words, arena, "--abi", "none");
	for (unsigned n = target->glibc; n >= OLDEST; n--)
		add(words, arena, "--platform", aj_printf(arena, "manylinux_2_%u_%s", n, target->arch));
	for (size_t i = 0; i < sizeof older / sizeof *older; i++)
		add(words, arena, "--platform", aj_printf(arena, "%s_%s", older[i], target->arch));
}

int aj_env_download(const struct aj_env_args *args, const struct aj_env_target *target, const char *site, const char **ret_tool,
                    struct aj_error *err)
{
	struct aj_arena *arena = args->arena;
	char uv[PATH_MAX];
	word_list words = { 0 };
	bool has_uv = aj_program_find("uv", uv, sizeof uv);
	*ret_tool = has_uv ? "uv" : "pip";
	if (has_uv) {
		add_uv(&words, target, arena);
	} else if (find_pip(&words, arena)) {
		add_pip(&words, target, arena);
	} else {
		aj_fail(err, AJ_EXIT_SETUP, "env", 0,
		        "neither uv nor pip is here to download packages: no `uv` on PATH, no `python3 -m pip`");
		aj_advise(err, "install uv (https://docs.astral.sh/uv), or pip: `apt install python3-pip`");
		return -1;
	}
	add(&words, arena, "--target", site);
	for (size_t i = 0; i < args->files.count; i++)
		add(&words, arena, "-r", args->files.items[i]);
	if (args->lock && !strstr(args->lock, ".toml"))
		add(&words, arena, "--require-hashes", NULL);
	if (args->lock)
		add(&words, arena, "-r", args->lock);
	if (args->packages.count)
		add(&words, arena, "--", NULL);
	for (size_t i = 0; i < args->packages.count; i++)
		add(&words, arena, args->packages.items[i], NULL);
	add(&words, arena, NULL, NULL);
	int code = aj_env_run(words.items, STDERR_FILENO, STDERR_FILENO);
	if (code < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "env", errno, "start %s", words.items[0]);
	if (aj_env_interrupted())
		return aj_fail(err, AJ_EXIT_SETUP, "env", 0, "interrupted");
	if (code) {
		aj_fail(err, AJ_EXIT_SETUP, "env", 0, "%s could not install the packages (exit status %d): its message is above",
		        *ret_tool, code);
		aj_advise(err,
		          "the packages must have wheels for CPython %s on Linux with glibc 2.%u; index, credentials and proxies are those of %s's own configuration",
		          target->python, target->glibc, *ret_tool);
		return -1;
	}
	return 0;
}
