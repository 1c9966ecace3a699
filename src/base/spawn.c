/* Starts a program of the host's. */
#include "base/spawn.h"

#include <fcntl.h>
#include <spawn.h>

int aj_spawn(pid_t *ret, const char *program, char *const argv[], char *const env[], const struct aj_spawn_fd *fds, size_t count)
{
	posix_spawn_file_actions_t files;
	int r = posix_spawn_file_actions_init(&files);
	if (r)
		return r;
	for (size_t i = 0; i < count && !r; i++)
		r = fds[i].from < 0 ? posix_spawn_file_actions_addopen(&files, fds[i].number, "/dev/null",
		                                                       fds[i].number == 0 ? O_RDONLY : O_WRONLY, 0)
		                    : posix_spawn_file_actions_adddup2(&files, fds[i].from, fds[i].number);
	if (!r)
		r = posix_spawn(ret, program, &files, NULL, argv, env);
	posix_spawn_file_actions_destroy(&files);
	return r;
}
