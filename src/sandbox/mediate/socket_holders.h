/* Finds the processes that have a socket open, and whether one of them belongs to the jail. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { AJ_GUESSES = 8 };

struct aj_holders {
	int proc_fd;       /* the host's /proc */
	pid_t init_pid;    /* pid of the jail's init in that /proc */
	struct aj_guess {  /* where sockets were found before: searched first, never trusted */
		int pidfd; /* 0: none */
		int number;
	} guesses[AJ_GUESSES];
	unsigned next_guess;
};

/* Does a process of the jail hold a socket of the jail's network namespace that is bound to inode `want`? Needs CAP_SYS_PTRACE
 * and CAP_NET_ADMIN in the jail's user namespace. */
bool aj_holders_have(struct aj_holders *h, const struct stat *want, bool *ret_listens);

/* A pidfd of a thread, or of its process before Linux 6.9; a socket's option. -1 with errno. */
int aj_holders_pidfd(int proc_fd, pid_t tid);
int aj_holders_option(int socket, int name);
/* aj_close() of such a duplicate. The last close() of a socket with SO_LINGER would wait for its peer. */
void aj_holders_drop(int *copy);
