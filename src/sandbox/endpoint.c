/* Finds out where a reported connect leads: copies the caller's socket and address, resolves a path as the caller would, and asks the kernel
 * whose socket it is. It connects to nothing but for one question, believes no name and no number that the jail could arrange, and what it
 * cannot tell it refuses. */
#include "sandbox/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif
#ifndef SIOCUNIXFILE
#define SIOCUNIXFILE (SIOCPROTOPRIVATE + 0)
#endif
#ifndef SIOCGSKNS
#define SIOCGSKNS 0x894C
#endif

enum { PATH_AT = offsetof(struct sockaddr_un, sun_path), PROCESSES_MAX = 4096, TRIES = 3 };

int aj_endpoint_rights(bool in_effect)
{
	const unsigned wanted = 1U << CAP_SYS_PTRACE | 1U << CAP_NET_ADMIN;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { { .effective = in_effect ? wanted : 0, .permitted = wanted } };
	return (int)syscall(SYS_capset, &head, sets);
}

/* A number after `name` in a text of /proc, to that base; 0 without one. */
static unsigned long number_after(const char *text, const char *name, int base)
{
	const char *at = strstr(text, name);
	return at ? strtoul(at + strlen(name), NULL, base) : 0;
}

/* A thread may have descriptors of its own. Before Linux 6.9 there is a pidfd for the whole process only. */
int aj_endpoint_pidfd(int proc_fd, pid_t tid)
{
	char path[32], text[2048];
	int fd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
	if (fd >= 0 || errno != EINVAL)
		return fd;
	snprintf(path, sizeof path, "%d/status", tid);
	cleanup_fd int file = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = file < 0 ? -1 : read(file, text, sizeof text - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return (int)syscall(SYS_pidfd_open, (pid_t)number_after(text, "\nTgid:", 10), 0);
}

static int fetch(int pidfd, int number)
{
	return (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
}

/* The caller's socket and the caller's address. */
static int copy(const struct aj_reach *reach, const struct aj_notice *call, struct aj_endpoint *ret)
{
	cleanup_fd int pidfd = aj_endpoint_pidfd(reach->proc_fd, call->tid);
	if (pidfd < 0)
		return AJ_ENDPOINT_REFUSED;
	ret->socket = fetch(pidfd, (int)call->args[0]);
	if (ret->socket < 0)
		return errno == EBADF ? EBADF : AJ_ENDPOINT_REFUSED;
	int bytes = (int)call->args[2];
	if (bytes < 0 || (size_t)bytes > sizeof ret->address)
		return EINVAL;
	struct iovec here = { ret->address.bytes, (size_t)bytes }, there = { (void *)(uintptr_t)call->args[1], (size_t)bytes };
	ret->address_bytes = (socklen_t)bytes;
	if (bytes && syscall(SYS_process_vm_readv, call->tid, &here, 1UL, &there, 1UL, 0UL) != bytes)
		return errno == EPERM || errno == ESRCH ? AJ_ENDPOINT_REFUSED : EFAULT;
	return 0;
}

static int option(int socket, int name)
{
	int value;
	socklen_t bytes = sizeof value;
	return getsockopt(socket, SOL_SOCKET, name, &value, &bytes) < 0 ? -1 : value;
}

/* The kernel hands out the namespace of a socket to whoever may administrate it: us, that of the jail alone. A socket that the jail was
 * given from outside is refused there. */
static bool in_own_network(int socket)
{
	cleanup_fd int space = ioctl(socket, SIOCGSKNS);
	return space >= 0;
}

/* Is it bound to that inode? First a question that no file but a socket has an answer to, whatever was fetched. Then: the kernel opens the file that a socket is bound to for whoever may administrate the socket's network
 * namespace, which is never the host's. `ret_listens`: an accepted one has the file of the one that it came from, and is not asked. */
static bool bound_to(int socket, const struct stat *want, bool *ret_listens)
{
	struct sockaddr_un peer;
	struct stat st;
	socklen_t bytes = sizeof peer;
	if (option(socket, SO_DOMAIN) != AF_UNIX)
		return false;
	cleanup_fd int file = ioctl(socket, SIOCUNIXFILE);
	if (file < 0 || fstat(file, &st) < 0 || st.st_dev != want->st_dev || st.st_ino != want->st_ino)
		return false;
	*ret_listens = option(socket, SO_ACCEPTCONN) == 1;
	return *ret_listens || getpeername(socket, (struct sockaddr *)&peer, &bytes) < 0;
}

static bool holds(int pidfd, int number, const struct stat *want, bool *ret_listens)
{
	cleanup_fd int socket = fetch(pidfd, number);
	return socket >= 0 && bound_to(socket, want, ret_listens);
}

/* The socket among the descriptors of one process. */
static bool search_process(struct aj_reach *reach, pid_t pid, const struct stat *want, bool *ret_listens)
{
	char path[32], target[16];
	_Alignas(8) char list[4096];
	long n;
	snprintf(path, sizeof path, "%d/fd", pid);
	cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	cleanup_fd int dir = pidfd < 0 ? -1 : openat(reach->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, list, sizeof list)) > 0)
		for (long at = 0; at < n;) {
			const char *name = list + at + 19; /* struct linux_dirent64: inode, offset, length, type, name */
			unsigned short bytes;
			memcpy(&bytes, list + at + 16, sizeof bytes);
			at += bytes;
			if (name[0] == '.' || readlinkat(dir, name, target, sizeof target) < 8 || strncmp(target, "socket:[", 8) != 0)
				continue;
			int number = (int)strtoul(name, NULL, 10);
			if (!holds(pidfd, number, want, ret_listens))
				continue;
			struct aj_guess *guess = &reach->guesses[reach->next_guess++ % AJ_GUESSES];
			if (guess->pidfd)
				close(guess->pidfd);
			*guess = (struct aj_guess){ aj_steal(&pidfd), number };
			return true;
		}
	return false;
}

/* Adds the children of every thread of that process. */
static size_t add_children(const struct aj_reach *reach, pid_t pid, pid_t *list, size_t count)
{
	char path[64], text[8192];
	_Alignas(8) char threads[4096];
	long n;
	snprintf(path, sizeof path, "%d/task", pid);
	cleanup_fd int dir = openat(reach->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, threads, sizeof threads)) > 0)
		for (long at = 0; at < n;) {
			const char *name = threads + at + 19;
			unsigned short bytes;
			memcpy(&bytes, threads + at + 16, sizeof bytes);
			at += bytes;
			if (name[0] == '.')
				continue;
			snprintf(path, sizeof path, "%.20s/children", name);
			cleanup_fd int file = openat(dir, path, O_RDONLY | O_CLOEXEC);
			ssize_t got;
			size_t used = 0;
			while (file >= 0 && (got = read(file, text + used, sizeof text - 1 - used)) > 0) {
				used += (size_t)got;
				text[used] = '\0';
				char *start = text, *end;
				for (pid_t child;
				     count < PROCESSES_MAX && (child = (pid_t)strtoul(start, &end, 10)) > 0 && *end == ' '; start = end)
					list[count++] = child;
				used -= (size_t)(start - text);
				memmove(text, start, used);
			}
		}
	return count;
}

/* Does a process of the jail hold a socket of the jail's network namespace that is bound to this inode? */
static bool is_own(struct aj_reach *reach, const struct stat *want, bool *ret_listens)
{
	static pid_t processes[PROCESSES_MAX];
	for (int i = 0; i < AJ_GUESSES; i++)
		if (reach->guesses[i].pidfd && holds(reach->guesses[i].pidfd, reach->guesses[i].number, want, ret_listens))
			return true;
	/* A process whose parent ends while we look becomes init's child behind our back. */
	for (int tries = 0; tries < TRIES; tries++) {
		size_t count = add_children(reach, reach->init_pid, processes, 0);
		for (size_t i = 0; i < count; i++) {
			if (search_process(reach, processes[i], want, ret_listens))
				return true;
			count = add_children(reach, processes[i], processes, count);
		}
	}
	return false;
}

/* Is anybody there at all? A datagram socket may not connect to a stream one, and the kernel says so before it looks at more. */
static bool is_dead(const struct aj_reach *reach, int path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	cleanup_fd int question = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "self/fd/%d", path);
	return question >= 0 && fchdir(reach->proc_fd) == 0 &&
	       connect(question, (struct sockaddr *)&address, sizeof address) < 0 && errno == ECONNREFUSED;
}

static int judge_file(struct aj_reach *reach, const struct aj_endpoint *e)
{
	struct stat st;
	bool listens = false;
	if (fstat(e->path, &st) < 0)
		return AJ_ENDPOINT_REFUSED;
	if (!S_ISSOCK(st.st_mode)) /* the kernel says what is wrong */
		return 0;
	for (size_t i = 0; i < reach->scratch_count; i++)
		if (st.st_dev == reach->scratch[i])
			return 0;
	if (aj_named_has(reach->named, &st))
		return 0;
	aj_endpoint_rights(true);
	bool own = reach->own_network && is_own(reach, &st, &listens);
	aj_endpoint_rights(false);
	if (own)
		return listens ? 0 : ECONNREFUSED;
	return is_dead(reach, e->path) ? ECONNREFUSED : AJ_ENDPOINT_REFUSED;
}

static int find_file(struct aj_reach *reach, int folder, struct aj_endpoint *e)
{
	char path[sizeof e->address + 1];
	size_t bytes = e->address_bytes - PATH_AT;
	memcpy(path, e->address.bytes + PATH_AT, bytes);
	path[bytes] = '\0';
	if (path[0] != '/' && folder < 0)
		return AJ_ENDPOINT_REFUSED;
	/* Our root is the jail's: nobody there can have another. */
	e->path = openat(path[0] == '/' ? AT_FDCWD : folder, path, O_PATH | O_CLOEXEC);
	return e->path < 0 ? errno : judge_file(reach, e);
}

static int find(struct aj_reach *reach, const struct aj_notice *call, struct aj_endpoint *e)
{
	char name[32];
	aj_endpoint_rights(true);
	int wrong = copy(reach, call, e);
	snprintf(name, sizeof name, "%d/cwd", call->tid);
	cleanup_fd int folder = openat(reach->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* Before any other question: only a socket has an answer to this one, and nobody else is asked. */
	int domain = wrong ? -1 : option(e->socket, SO_DOMAIN), error = errno;
	bool own_socket = domain >= 0 && (!reach->own_network || in_own_network(e->socket));
	aj_endpoint_rights(false);
	if (wrong)
		return wrong;
	if (domain < 0)
		return error == ENOTSOCK || error == EBADF ? error : AJ_ENDPOINT_REFUSED;
	if (!own_socket)
		return AJ_ENDPOINT_REFUSED;
	if (domain != AF_UNIX)
		return 0;
	if (option(e->socket, SO_TYPE) == SOCK_DGRAM)
		return AJ_ENDPOINT_REFUSED;
	if (e->address_bytes <= PATH_AT || e->address_bytes > sizeof(struct sockaddr_un) || e->address.any.ss_family != AF_UNIX)
		return EINVAL;
	if (e->address.bytes[PATH_AT] == '\0') /* abstract: a network namespace has its own */
		return reach->own_network ? 0 : AJ_ENDPOINT_REFUSED;
	return find_file(reach, folder, e);
}

int aj_endpoint_find(struct aj_reach *reach, const struct aj_notice *call, struct aj_endpoint *ret)
{
	*ret = (struct aj_endpoint){ .socket = -1, .path = -1 };
	return find(reach, call, ret);
}

void aj_endpoint_close(struct aj_endpoint *e)
{
	aj_close(&e->socket);
	aj_close(&e->path);
}
