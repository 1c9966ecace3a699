/* Starts a program of the host's, which is known by its path, beside the calling program (posix_spawn(3)). */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Descriptor `number` of the new program. */
struct aj_spawn_fd {
	int number;
	int from; /* a descriptor of the caller's; -1: /dev/null */
};

/* Other descriptors stay as they are; those of ours close at exec. No signal is blocked in it. Returns 0 or an errno. */
int aj_spawn(pid_t *ret, const char *program, char *const argv[], char *const env[], const struct aj_spawn_fd *fds, size_t count);
