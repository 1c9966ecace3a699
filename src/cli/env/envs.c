/* Opens, locks and reads environments, and finds the Python that they are for. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/lock.h"
#include "base/text.h"
#include "cli/env/envcmd.h"
#include "policy/host/own_folders.h"
#include "policy/host/paths.h"
#include "policy/host/python_env.h"
#include "policy/load/site.h"

int aj_env_open_all(bool make)
{
	struct aj_arena arena = { 0 };
	const char *envs = aj_python_envs(&arena),
		   *ours = envs ? aj_strndup(&arena, envs, (size_t)(strrchr(envs, '/') - envs)) : NULL;
	cleanup_fd int dir = ours ? aj_state_open_above(ours, make) : -1;
	if (!ours)
		errno = ENOENT;
	if (dir >= 0 && aj_state_go_down(&dir, "agentjail", make) == 0)
		aj_state_go_down(&dir, "envs", make);
	aj_arena_free(&arena);
	return aj_steal(&dir);
}

int aj_env_lock(int all, const char *name, struct aj_error *err)
{
	enum { WAIT_NS = 100000000 };
	char file[NAME_MAX];
	snprintf(file, sizeof file, ".%s.lock", name);
	cleanup_fd int fd = openat(all, file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "env", errno, "open the lock of environment `%s`", name);
	for (bool told = false; aj_lock_take(fd, true) < 0; told = true) {
		if (errno != EAGAIN && errno != EACCES)
			return aj_fail(err, AJ_EXIT_SETUP, "env", errno, "lock environment `%s`", name);
		if (aj_env_interrupted())
			return aj_fail(err, AJ_EXIT_SETUP, "env", 0, "interrupted");
		if (!told)
			fprintf(stderr, "agentjail: waiting for another process that makes or changes environment `%s`\n", name);
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
	}
	return aj_steal(&fd);
}

json_t *aj_env_read(const char *name, struct aj_arena *arena, const char **ret_path, struct aj_error *err)
{
	struct stat st;
	const char *envs = aj_python_envs(arena);
	*ret_path = envs ? aj_printf(arena, "%s/%s", envs, name) : NULL;
	if (!*ret_path || lstat(*ret_path, &st) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "env", 0, "there is no environment `%s`", name);
		aj_advise(err,
		          "`agentjail env list` shows those that are there; `agentjail env create %s --packages ...` makes it",
		          name);
		return NULL;
	}
	return aj_python_env_read(*ret_path, err);
}

static const char *header(const char *rootfs, const char *name, struct aj_arena *arena)
{
	char line[4096];
	const char *value = NULL;
	FILE *in = fopen(aj_printf(arena, "%s/manifest", rootfs), "re");
	size_t bytes = strlen(name);
	while (in && !value && fgets(line, sizeof line, in) && line[0] != '\n')
		if (strncmp(line, name, bytes) == 0 && line[bytes] == ' ')
			value = aj_strndup(arena, line + bytes + 1, strcspn(line + bytes + 1, "\n"));
	if (in)
		fclose(in);
	return value;
}

int aj_env_find_target(struct aj_env_target *ret, const char *python, struct aj_arena *arena, struct aj_error *err)
{
	struct aj_site site;
	struct aj_diags diags = { .arena = arena };
	uint64_t glibc = 0;
	*ret = (struct aj_env_target){ 0 };
	if (aj_find_rootfs(&ret->rootfs, "default", aj_site_load(&site, NULL, &diags) == 0 ? site.rootfs : "", arena, err) < 0)
		return -1;
	const char *version = header(ret->rootfs, "python", arena), *libc = header(ret->rootfs, "libc", arena);
	const char *minor = version ? strchr(version, '.') : NULL, *patch = minor ? strchr(minor + 1, '.') : NULL;
	ret->arch = header(ret->rootfs, "arch", arena);
	if (!patch || !ret->arch || !libc || strncmp(libc, "2.", 2) != 0 || !aj_parse_count(libc + 2, &glibc)) {
		aj_fail(err, AJ_EXIT_SETUP, "env", 0, "the manifest of the Python tree `%s` names no version of Python and glibc",
		        ret->rootfs);
		aj_advise(err, "build the tree again: `make rootfs`");
		return -1;
	}
	ret->glibc = (unsigned)glibc;
	ret->python = aj_strndup(arena, version, (size_t)(patch - version));
	if (python && strcmp(python, ret->python) != 0) {
		aj_fail(err, AJ_EXIT_USAGE, "env", 0, "--python %s: the Python tree `%s` has Python %s", python, ret->rootfs,
		        ret->python);
		aj_advise(err, "leave --python out");
		return -1;
	}
	return 0;
}
