/* Whose a socket is: does a process of the jail hold it? */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { AJ_GUESSES = 8 };

struct aj_holders {
	int proc_fd;       /* the host's /proc */
	pid_t init_pid;    /* the jail's, as that /proc numbers it */
	struct aj_guess {  /* where sockets were found before: looked at first, never believed */
		int pidfd; /* 0: none */
		int number;
	} guesses[AJ_GUESSES];
	unsigned next_guess;
};

/* Is a socket bound to the inode `want` that belongs to the jail's network namespace, and does one of the jail's processes hold it? Needs
 * CAP_SYS_PTRACE and CAP_NET_ADMIN in the jail's user namespace. */
bool aj_holders_have(struct aj_holders *h, const struct stat *want, bool *ret_listens);

/* Will a signal make that thread leave the call that it waits in, as soon as it may? */
bool aj_holders_signalled(int proc_fd, pid_t tid);
/* A thread, or where the kernel has no such pidfd its process; a copy of a descriptor; a socket's option. -1 with errno. */
int aj_holders_pidfd(int proc_fd, pid_t tid);
int aj_holders_fetch(int pidfd, int number);
int aj_holders_option(int socket, int name);
