/* Checks the sockets that a jail inherits as 0 to 2: a socket keeps the network namespace in which it was made, whatever
 * namespace the jail is in. It refuses each socket that a jail could connect to another peer. */
#include "sandbox/mediate/inherited_sockets.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

static int int_option(int socket, int name)
{
	int value;
	socklen_t bytes = sizeof value;
	return getsockopt(socket, SOL_SOCKET, name, &value, &bytes) < 0 ? -1 : value;
}

/* A Unix or vsock stream that is connected or listens cannot be connected anew; a datagram socket sends to any address, as to a
 * socket file of the host or to an abstract name in the host's network. */
static bool is_settled(int fd)
{
	struct sockaddr_storage peer;
	socklen_t bytes = sizeof peer;
	return int_option(fd, SO_TYPE) != SOCK_DGRAM &&
	       (int_option(fd, SO_ACCEPTCONN) == 1 || getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0);
}

int aj_inherited_sockets_check(const struct aj_plan *plan, struct aj_error *err)
{
	for (int fd = plan->no_input ? 1 : 0; fd < (plan->capture ? 1 : 3); fd++) {
		int domain = int_option(fd, SO_DOMAIN);
		if (domain < 0 && errno != ENOTSOCK && errno != EBADF)
			return aj_fail(err, AJ_EXIT_SETUP, "sockets", errno, "ask whether descriptor %d is a socket", fd);
		if (domain < 0 || (domain == AF_UNIX || domain == AF_VSOCK ? is_settled(fd) : plan->network == AJ_NET_HOST))
			continue;
		if (domain == AF_UNIX) {
			aj_fail(err, AJ_EXIT_USAGE, "sockets", 0,
			        "descriptor %d is a Unix socket that could still reach other sockets: "
			        "a datagram socket, or one that is not connected",
			        fd);
			aj_advise(err, "give the command a file, a pipe, or a stream socket that is connected or listens");
			return -1;
		}
		/* After connect(2) with AF_UNSPEC a TCP socket can connect past Landlock by MSG_FASTOPEN, or listen. */
		aj_fail(err, AJ_EXIT_USAGE, "sockets", 0,
		        "descriptor %d is a socket of the host's network, which the command could disconnect and connect to any address there",
		        fd);
		aj_advise(err, "put a program between that copies: "
		               "`socat TCP-LISTEN:PORT,fork EXEC:'agentjail run ...'` gives the command a Unix socket");
		return -1;
	}
	return 0;
}
