/* Starts a program of the host's. */
#include "base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

int aj_spawn(pid_t *ret, const char *program, char *const argv[], char *const env[], const struct aj_spawn_fd *fds, size_t count)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	int r = posix_spawn_file_actions_init(&files);
	if (r)
		return r;
	r = posix_spawnattr_init(&attributes);
	if (r) {
		posix_spawn_file_actions_destroy(&files);
		return r;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	for (size_t i = 0; i < count && !r; i++)
		r = fds[i].from < 0 ? posix_spawn_file_actions_addopen(&files, fds[i].number, "/dev/null",
		                                                       fds[i].number == 0 ? O_RDONLY : O_WRONLY, 0)
		                    : posix_spawn_file_actions_adddup2(&files, fds[i].from, fds[i].number);
	if (!r)
		r = posix_spawn(ret, program, &files, &attributes, argv, env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return r;
}
