/* Sends and receives the typed messages between supervisor and init.
 * It refuses short messages, unknown kinds and unterminated strings: the sender may be a guest that broke out of its libc. */
#include "sandbox/handshake.h"

#include <errno.h>
#include <sys/socket.h>

int aj_msg_send(int fd, const struct aj_msg *msg)
{
	ssize_t n;
	do
		n = send(fd, msg, sizeof *msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *msg ? 0 : -1;
}

int aj_msg_recv(int fd, struct aj_msg *msg, int flags)
{
	ssize_t n;
	do
		n = recv(fd, msg, sizeof *msg, flags | MSG_TRUNC); /* the true length, even where it does not fit */
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	if (n != (ssize_t)sizeof *msg || msg->kind < AJ_MSG_MAPS_WRITTEN || msg->kind > AJ_MSG_EXITED) {
		errno = EPROTO;
		return -1;
	}
	msg->step[sizeof msg->step - 1] = '\0';
	msg->cause[sizeof msg->cause - 1] = '\0';
	msg->fix[sizeof msg->fix - 1] = '\0';
	return 1;
}
