/* Runs a shell command of the host's, which the site or the caller named, in a process group of its own. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct aj_host_command {
	const char *text; /* for /bin/sh -c */
	int in, out;      /* its standard input and output; in -1: the caller's */
	bool of_system;   /* in `/` and with the system's PATH: an earlier jail may have written programs to the caller's */
	bool whole_group; /* a process of ours leads the group, outlives the command, and kills the group when the caller ends */
};

/* The pid of its process group, which is a child of the caller's; -1 with errno. Without `whole_group` this is the shell, which
 * the kernel kills when the caller ends. The shell blocks no signal and ignores none. Exit code 126: it could not be prepared;
 * 127: no shell. */
pid_t aj_host_command_start(const struct aj_host_command *command);
