/* Finds out whether a process of the jail has the socket open that is bound to an inode, by asking the kernel about their sockets
 * one by one.
 * Trusts no name and no number that a jail could arrange, and no earlier answer: the cache only says where to look first. */
#include "sandbox/mediate/socket_holders.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/dirent64.h"
#include "base/fd.h"
#include "base/pidfd.h"
#include "base/procfs.h"

#ifndef SIOCUNIXFILE
#define SIOCUNIXFILE (SIOCPROTOPRIVATE + 0)
#endif

enum { PROCESSES_MAX = 4096, DESCRIPTORS_MAX = 65536, TRIES = 3 };

/* Threads may have descriptor tables of their own; before Linux 6.9 (PIDFD_THREAD) only the process's pidfd is available. */
int aj_holders_pidfd(int proc_fd, pid_t tid)
{
	int fd = aj_pidfd_open_thread(tid);
	if (fd >= 0 || errno != EINVAL)
		return fd;
	return aj_pidfd_open((pid_t)aj_procfs_number(proc_fd, tid, "Tgid"));
}

void aj_holders_drop(int *copy)
{
	struct linger none = { 0 };
	if (*copy >= 0)
		setsockopt(*copy, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	aj_close(copy);
}

int aj_holders_option(int socket, int name)
{
	int value;
	socklen_t bytes = sizeof value;
	return getsockopt(socket, SOL_SOCKET, name, &value, &bytes) < 0 ? -1 : value;
}

/* Is the socket bound to that inode? SO_DOMAIN first: only a socket answers it. SIOCUNIXFILE needs CAP_NET_ADMIN in the socket's
 * network namespace, which we never have in the host's. Accepted sockets share their listener's inode, and are left out. */
static bool bound_to(int socket, const struct stat *want, bool *ret_listens)
{
	struct sockaddr_un peer;
	struct stat st;
	socklen_t bytes = sizeof peer;
	if (aj_holders_option(socket, SO_DOMAIN) != AF_UNIX)
		return false;
	cleanup_fd int file = ioctl(socket, SIOCUNIXFILE);
	if (file < 0 || fstat(file, &st) < 0 || st.st_dev != want->st_dev || st.st_ino != want->st_ino)
		return false;
	*ret_listens = aj_holders_option(socket, SO_ACCEPTCONN) == 1;
	return *ret_listens || getpeername(socket, (struct sockaddr *)&peer, &bytes) < 0;
}

static bool holds(int pidfd, int number, const struct stat *want, bool *ret_listens)
{
	cleanup_fd int socket = aj_pidfd_copy_fd(pidfd, number);
	return socket >= 0 && bound_to(socket, want, ret_listens);
}

static bool found_at(struct aj_holders *h, int pidfd, int number, const struct stat *want, bool *ret_listens)
{
	if (!holds(pidfd, number, want, ret_listens))
		return false;
	struct aj_guess *guess = &h->guesses[h->next_guess++ % AJ_GUESSES];
	int copy = fcntl(pidfd, F_DUPFD_CLOEXEC, 3);
	if (guess->pidfd > 0)
		close(guess->pidfd);
	*guess = (struct aj_guess){ copy < 0 ? 0 : copy, number };
	return true;
}

/* Searches the descriptors of one process. */
static bool search_process(struct aj_holders *h, pid_t pid, const struct stat *want, bool *ret_listens)
{
	char path[32], target[16];
	_Alignas(struct aj_dirent64) char list[4096];
	long n;
	cleanup_fd int pidfd = aj_pidfd_open(pid);
	if (pidfd < 0)
		return false;
	snprintf(path, sizeof path, "%d/fd", pid);
	cleanup_fd int dir = openat(h->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A process that is not dumpable, such as an agent with keys, hides its list from us; its descriptors can be fetched by
	 * number all the same. */
	unsigned long room = dir < 0 ? aj_procfs_number(h->proc_fd, pid, "FDSize") : 0;
	for (unsigned long number = 0; number < room && number < DESCRIPTORS_MAX; number++)
		if (found_at(h, pidfd, (int)number, want, ret_listens))
			return true;
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, list, sizeof list)) > 0)
		for (long at = 0; at < n;) {
			const struct aj_dirent64 *e = (const struct aj_dirent64 *)(list + at);
			at += e->bytes;
			if (e->name[0] == '.' || readlinkat(dir, e->name, target, sizeof target) < 8 ||
			    strncmp(target, "socket:[", 8) != 0)
				continue;
			if (found_at(h, pidfd, (int)strtoul(e->name, NULL, 10), want, ret_listens))
				return true;
		}
	return false;
}

/* Adds the children of every thread of that process. */
static size_t add_children(const struct aj_holders *h, pid_t pid, pid_t *list, size_t count)
{
	char path[64], text[8192];
	_Alignas(struct aj_dirent64) char threads[4096];
	long n;
	snprintf(path, sizeof path, "%d/task", pid);
	cleanup_fd int dir = openat(h->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, threads, sizeof threads)) > 0)
		for (long at = 0; at < n;) {
			const struct aj_dirent64 *e = (const struct aj_dirent64 *)(threads + at);
			at += e->bytes;
			if (e->name[0] == '.')
				continue;
			snprintf(path, sizeof path, "%.20s/children", e->name);
			cleanup_fd int file = openat(dir, path, O_RDONLY | O_CLOEXEC);
			ssize_t got;
			size_t used = 0;
			while (file >= 0 && (got = read(file, text + used, sizeof text - 1 - used)) > 0) {
				used += (size_t)got;
				text[used] = '\0';
				char *start = text, *end;
				for (; count < PROCESSES_MAX; start = end) {
					pid_t child = (pid_t)strtoul(start, &end, 10);
					if (child <= 0 || *end != ' ')
						break;
					list[count++] = child;
				}
				used -= (size_t)(start - text);
				memmove(text, start, used);
			}
		}
	return count;
}

bool aj_holders_have(struct aj_holders *h, const struct stat *want, bool *ret_listens)
{
	static pid_t processes[PROCESSES_MAX];
	for (int i = 0; i < AJ_GUESSES; i++)
		if (h->guesses[i].pidfd > 0 && holds(h->guesses[i].pidfd, h->guesses[i].number, want, ret_listens))
			return true;
	/* An orphan is reparented to init while we search, perhaps behind us: so search again. */
	for (int tries = 0; tries < TRIES; tries++) {
		size_t count = add_children(h, h->init_pid, processes, 0);
		for (size_t i = 0; i < count; i++) {
			if (search_process(h, processes[i], want, ret_listens))
				return true;
			count = add_children(h, processes[i], processes, count);
		}
	}
	return false;
}
