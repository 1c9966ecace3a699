/* Finds out where a reported connect leads: copies the caller's socket and address, resolves a path as the caller would, and asks
 * the kernel whose socket it is. Connects only to probe whether a socket is bound, trusts no name and no number that the jail
 * could arrange, and refuses what it cannot determine. */
#include "sandbox/mediate/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/capset.h"
#include "base/fd.h"
#include "base/pidfd.h"

#ifndef SIOCGSKNS
#define SIOCGSKNS 0x894C
#endif

enum { PATH_AT = offsetof(struct sockaddr_un, sun_path) };

int aj_endpoint_rights(bool in_effect)
{
	const unsigned wanted = 1U << CAP_SYS_PTRACE | 1U << CAP_NET_ADMIN;
	const struct aj_capset set = { { { .effective = in_effect ? wanted : 0, .permitted = wanted } } };
	return aj_capset_set(&set);
}

int aj_endpoint_fetch(const struct aj_reach *reach, const struct aj_notification *call, int *ret_fd)
{
	cleanup_fd int pidfd = aj_holders_pidfd(reach->holders.proc_fd, call->tid);
	*ret_fd = pidfd < 0 ? -1 : aj_pidfd_copy_fd(pidfd, (int)call->args[0]);
	return *ret_fd >= 0 ? 0 : pidfd >= 0 && errno == EBADF ? EBADF : AJ_ENDPOINT_REFUSED;
}

int aj_endpoint_read(const struct aj_notification *call, int index, void *out, size_t bytes)
{
	if (bytes == 0 || aj_notify_read(call, index, out, bytes) == 0)
		return 0;
	return errno == EPERM || errno == ESRCH ? AJ_ENDPOINT_REFUSED : EFAULT;
}

/* Copies the caller's socket and address. */
static int copy_args(const struct aj_reach *reach, const struct aj_notification *call, struct aj_endpoint *ret)
{
	int bytes = (int)call->args[2], wrong = aj_endpoint_fetch(reach, call, &ret->socket);
	if (wrong)
		return wrong;
	if (bytes < 0 || (size_t)bytes > sizeof ret->address)
		return EINVAL;
	ret->address_bytes = (socklen_t)bytes;
	return aj_endpoint_read(call, 1, ret->address.bytes, (size_t)bytes);
}

/* SIOCGSKNS needs CAP_NET_ADMIN in the socket's network namespace, which we have in the jail's alone. A socket that the jail was
 * given from outside fails here. */
static bool in_own_network(int socket)
{
	cleanup_fd int space = ioctl(socket, SIOCGSKNS);
	return space >= 0;
}

/* Is no socket bound to the file? A datagram socket cannot connect to a stream socket, and the kernel reports that before
 * anything else; ECONNREFUSED comes only when none is bound. */
static bool is_unbound(const struct aj_reach *reach, int path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	cleanup_fd int question = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "self/fd/%d", path);
	return question >= 0 && fchdir(reach->holders.proc_fd) == 0 &&
	       connect(question, (struct sockaddr *)&address, sizeof address) < 0 && errno == ECONNREFUSED;
}

static int judge_file(struct aj_reach *reach, const struct aj_endpoint *e)
{
	struct stat st;
	bool listens = false;
	if (fstat(e->path, &st) < 0)
		return AJ_ENDPOINT_REFUSED;
	if (!S_ISSOCK(st.st_mode)) /* connect() returns the right error */
		return 0;
	for (size_t i = 0; i < reach->scratch_count; i++)
		if (st.st_dev == reach->scratch[i])
			return 0;
	if (aj_named_sockets_has(reach->named, &st))
		return 0;
	aj_endpoint_rights(true);
	bool own = reach->own_network && aj_holders_have(&reach->holders, &st, &listens);
	aj_endpoint_rights(false);
	if (own)
		return listens ? 0 : ECONNREFUSED;
	return is_unbound(reach, e->path) ? ECONNREFUSED : AJ_ENDPOINT_REFUSED;
}

static int find_file(struct aj_reach *reach, int folder, struct aj_endpoint *e)
{
	char path[sizeof e->address + 1];
	size_t bytes = e->address_bytes - PATH_AT;
	memcpy(path, e->address.bytes + PATH_AT, bytes);
	path[bytes] = '\0';
	if (path[0] != '/' && folder < 0)
		return AJ_ENDPOINT_REFUSED;
	/* Our root is the jail's: no process there can have another. */
	e->path = openat(path[0] == '/' ? AT_FDCWD : folder, path, O_PATH | O_CLOEXEC);
	return e->path < 0 ? errno : judge_file(reach, e);
}

static int find_endpoint(struct aj_reach *reach, const struct aj_notification *call, struct aj_endpoint *e)
{
	char name[32];
	aj_endpoint_rights(true);
	int wrong = copy_args(reach, call, e);
	snprintf(name, sizeof name, "%d/cwd", call->tid);
	cleanup_fd int folder = openat(reach->holders.proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* First of all: only a socket answers getsockopt(), and no other call may be made on an unknown file. */
	int domain = wrong ? -1 : aj_holders_option(e->socket, SO_DOMAIN), error = errno;
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
	if (aj_holders_option(e->socket, SO_TYPE) == SOCK_DGRAM)
		return AJ_ENDPOINT_REFUSED;
	if (e->address_bytes <= PATH_AT || e->address_bytes > sizeof(struct sockaddr_un) || e->address.any.ss_family != AF_UNIX)
		return EINVAL;
	if (e->address.bytes[PATH_AT] == '\0') /* abstract: the jail's network namespace has its own */
		return reach->own_network ? 0 : AJ_ENDPOINT_REFUSED;
	return find_file(reach, folder, e);
}

int aj_endpoint_find(struct aj_reach *reach, const struct aj_notification *call, struct aj_endpoint *ret)
{
	*ret = (struct aj_endpoint){ .socket = -1, .path = -1 };
	return find_endpoint(reach, call, ret);
}

void aj_endpoint_close(struct aj_endpoint *e)
{
	aj_close(&e->socket);
	aj_close(&e->path);
}
