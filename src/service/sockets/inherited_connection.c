/* Checks a connection that was inherited, and finds the process at its other end.
 * It reads and writes no byte of it, and takes no socket that other machines could reach. */
#include "service/sockets/inherited_connection.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "service/sockets/listen.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

/* The process that made the socket pair. SO_PEERPIDFD names it for good; before Linux 6.5 its pid must do, which could be another
 * process's by now if it has ended. */
static int open_owner(int fd, pid_t pid)
{
	int pidfd = -1;
	socklen_t bytes = sizeof pidfd;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &bytes) == 0)
		return pidfd;
	return errno == ENOPROTOOPT ? aj_pidfd_open(pid) : -1;
}

int aj_connection_inherited(int fd, int *ret_owner_pidfd, struct aj_error *err)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t peer_bytes = sizeof peer;
	int type = 0;
	socklen_t type_bytes = sizeof type;
	uid_t uid;
	pid_t pid;
	*ret_owner_pidfd = -1;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_bytes) < 0)
		return aj_fail(err, AJ_EXIT_USAGE, "connection", errno, "descriptor %d", fd);
	/* A socket that listens has credentials, its own; getpeername fails for it. */
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) < 0 || peer.ss_family != AF_UNIX || type != SOCK_STREAM ||
	    aj_listen_peer(fd, &uid, &pid) < 0) {
		aj_fail(err, AJ_EXIT_USAGE, "connection", 0, "descriptor %d is not a connected Unix stream socket", fd);
		aj_advise(err, "pass one end of socketpair(AF_UNIX, SOCK_STREAM)");
		return -1;
	}
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "connection", errno, "descriptor %d", fd);
	cleanup_fd int owner = pid > 0 ? open_owner(fd, pid) : -1;
	if (pid > 0 && owner < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "connection", errno, "process %d, which made descriptor %d", (int)pid, fd);
	*ret_owner_pidfd = aj_steal(&owner);
	return 0;
}
