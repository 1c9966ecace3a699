/* Sends and receives the typed messages between supervisor and init.
 * It refuses short messages, unknown kinds and unterminated strings: the sender may be a guest that broke out of its libc. */
#include "sandbox/handshake.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

int aj_msg_send(int fd, const struct aj_msg *msg)
{
	ssize_t n;
	do
		n = send(fd, msg, sizeof *msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *msg ? 0 : -1;
}

int aj_msg_fd(struct msghdr *msg)
{
	int fd = -1;
	/* The kernel has installed every one that had room: what nobody asked for is closed. */
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t count = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof fd : 0;
		for (size_t i = 0; i < count; i++) {
			int one;
			memcpy(&one, CMSG_DATA(c) + i * sizeof one, sizeof one);
			if (fd < 0)
				fd = one;
			else
				aj_close(&one);
		}
	}
	return fd;
}

int aj_msg_recv(int fd, struct aj_msg *msg, int flags)
{
	int none;
	int r = aj_msg_recv_fd(fd, msg, flags, &none);
	aj_close(&none);
	return r;
}

int aj_msg_recv_fd(int fd, struct aj_msg *msg, int flags, int *ret_fd)
{
	/* Room for one: the kernel closes what does not fit. */
	union {
		char data[CMSG_LEN(sizeof(int))];
		struct cmsghdr align;
	} space;
	struct iovec iov = { msg, sizeof *msg };
	struct msghdr whole = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space.data, .msg_controllen = sizeof space.data };
	ssize_t n;
	*ret_fd = -1;
	do
		n = recvmsg(fd, &whole, flags | MSG_TRUNC | MSG_CMSG_CLOEXEC); /* the true length, even where it does not fit */
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	*ret_fd = aj_msg_fd(&whole);
	if (n != (ssize_t)sizeof *msg || msg->kind < AJ_MSG_MAPS_WRITTEN || msg->kind > AJ_MSG_EXITED) {
		errno = EPROTO;
		return -1;
	}
	msg->step[sizeof msg->step - 1] = '\0';
	msg->cause[sizeof msg->cause - 1] = '\0';
	msg->fix[sizeof msg->fix - 1] = '\0';
	return 1;
}
