/* Creates, checks and removes the sockets that the service listens on.
 * It removes no file but a dead socket of our own user, accepts no folder that other users may write to, and binds to loopback
 * addresses only. */
#include "service/sockets/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

enum { BACKLOG = 128, LOCK_TRIES = 50, LOCK_PAUSE_US = 20000 };

/* Open and flock the socket's folder, so that two services that start at once do not both replace a dead socket. Closing the
 * descriptor unlocks. */
static int lock_folder(const char *path, struct aj_error *err)
{
	char folder[108];
	struct stat st;
	snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
	const char *shown = *folder ? folder : "/";
	cleanup_fd int fd = open(shown, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "socket", errno, "the folder `%s`", shown);
	bool ours = st.st_uid == geteuid() || st.st_uid == 0, open_to_others = (st.st_mode & 022) && !(st.st_mode & S_ISVTX);
	if (!ours || open_to_others) {
		aj_fail(err, AJ_EXIT_SETUP, "socket", 0,
		        "other users may write to the folder `%s`, and create their own socket there", shown);
		aj_advise(err, "name another path with --socket, such as one below $XDG_RUNTIME_DIR");
		return -1;
	}
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK || i == LOCK_TRIES)
			return aj_fail(err, AJ_EXIT_SETUP, "socket", errno, "another process holds a lock on the folder `%s`",
			               shown);
		usleep(LOCK_PAUSE_US);
	}
	return aj_steal(&fd);
}

/* Remove a dead socket of ours at the path. Returns 0 when the path is free. */
static int remove_dead_socket(const struct sockaddr_un *address, struct aj_error *err)
{
	const char *path = address->sun_path;
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : aj_fail(err, AJ_EXIT_SETUP, "socket", errno, "examine `%s`", path);
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return aj_fail(err, AJ_EXIT_SETUP, "socket", 0, "`%s` exists already, and is %s", path,
		               S_ISSOCK(st.st_mode) ? "not ours" : "no socket");
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "socket", errno, "make a socket");
	if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno != ECONNREFUSED) {
		aj_fail(err, AJ_EXIT_SETUP, "socket", 0, "another process listens at `%s` already", path);
		aj_advise(err, "stop the other service, or name another path with --socket");
		return -1;
	}
	if (unlink(path) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "socket", errno, "remove the dead socket `%s`", path);
	return 0;
}

int aj_listen_unix(struct aj_listener *l, const char *path, struct aj_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;
	if (path[0] != '/' || strlen(path) >= sizeof address.sun_path)
		return aj_fail(err, AJ_EXIT_USAGE, "socket", 0, "`%s` is not an absolute path of at most %zu bytes", path,
		               sizeof address.sun_path - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	cleanup_fd int folder = lock_folder(path, err);
	if (folder < 0 || remove_dead_socket(&address, err) < 0)
		return -1;
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The file has mode 0600 from its creation, so no other user can connect. */
	mode_t before = umask(0177);
	int r = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof address), why = errno;
	umask(before);
	if (r < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "socket", why, "bind `%s`", path);
	if (listen(fd, BACKLOG) < 0 || lstat(path, &st) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "socket", errno, "listen at `%s`", path);
		unlink(path);
		return -1;
	}
	*l = (struct aj_listener){ .fd = aj_steal(&fd), .device = st.st_dev, .inode = st.st_ino };
	memcpy(l->path, path, strlen(path) + 1);
	return 0;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
	if (address->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return false;
}

/* "127.0.0.1:9464" or "[::1]:9464". */
static bool parse_address(const char *where, struct sockaddr_storage *ret, socklen_t *ret_bytes)
{
	char host[64];
	uint64_t port;
	const char *colon = strrchr(where, ':');
	bool six = where[0] == '[';
	*ret = (struct sockaddr_storage){ 0 };
	if (!colon || !aj_parse_count(colon + 1, &port) || port > 65535 || (size_t)(colon - where) >= sizeof host)
		return false;
	snprintf(host, sizeof host, "%.*s", (int)(colon - where), where);
	if (six) {
		size_t bytes = strlen(host);
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
		*in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
		*ret_bytes = sizeof *in6;
		if (host[bytes - 1] != ']')
			return false;
		host[bytes - 1] = '\0';
		return inet_pton(AF_INET6, host + 1, &in6->sin6_addr) == 1;
	}
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	*ret_bytes = sizeof *in;
	return inet_pton(AF_INET, host, &in->sin_addr) == 1;
}

int aj_listen_metrics(struct aj_listener *l, const char *where, struct aj_error *err)
{
	struct sockaddr_storage address;
	socklen_t bytes;
	int on = 1;
	if (where[0] == '/')
		return aj_listen_unix(l, where, err);
	if (!parse_address(where, &address, &bytes) || !is_loopback(&address)) {
		aj_fail(err, AJ_EXIT_USAGE, "metrics", 0, "`%s` is neither an absolute path nor a loopback address with a port",
		        where);
		aj_advise(err, "such as 127.0.0.1:9464 or [::1]:9464: other machines may not read the metrics");
		return -1;
	}
	cleanup_fd int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
	    bind(fd, (struct sockaddr *)&address, bytes) < 0 || listen(fd, BACKLOG) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "metrics", errno, "listen at `%s`", where);
	*l = (struct aj_listener){ .fd = aj_steal(&fd) };
	return 0;
}

int aj_listen_inherited(struct aj_listener *l, int fd, bool tcp, struct aj_error *err)
{
	int listens = 0, type = 0;
	socklen_t bytes = sizeof listens;
	struct sockaddr_storage address = { 0 };
	socklen_t address_bytes = sizeof address;
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &address_bytes) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "activation", errno, "descriptor %d, which the service manager passed", fd);
	bool local = address.ss_family == AF_UNIX || (tcp && is_loopback(&address));
	if (!listens || type != SOCK_STREAM || !local) {
		aj_fail(err, AJ_EXIT_SETUP, "activation", 0, "descriptor %d, which the service manager passed, is %s", fd,
		        !listens              ? "not a socket that listens"
		        : type != SOCK_STREAM ? "not a stream socket"
		        : tcp                 ? "reachable from other machines"
		                              : "not a local socket");
		return -1;
	}
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "activation", errno, "descriptor %d, which the service manager passed", fd);
	*l = (struct aj_listener){ .fd = fd };
	return 0;
}

void aj_listen_end(struct aj_listener *l)
{
	struct stat st;
	if (*l->path && lstat(l->path, &st) == 0 && st.st_dev == l->device && st.st_ino == l->inode)
		unlink(l->path);
	aj_close(&l->fd);
	*l->path = '\0';
}

int aj_listen_accept(const struct aj_listener *l)
{
	return accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int aj_listen_peer(int fd, uid_t *ret_uid, pid_t *ret_pid)
{
	struct ucred peer;
	socklen_t bytes = sizeof peer;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
		return -1;
	*ret_uid = peer.uid;
	*ret_pid = peer.pid;
	return 0;
}
