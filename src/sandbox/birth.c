/* Moves the messages between a supervisor and its zygote, whole and with their descriptors.
 * It keeps none that the caller did not ask for, and takes a short message for an error. */
#include "sandbox/birth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

union space {
	char data[CMSG_SPACE(AJ_BIRTH_FDS * sizeof(int))];
	struct cmsghdr align;
};

void aj_birth_name(char ret[AJ_BIRTH_NAME], uint32_t number)
{
	snprintf(ret, AJ_BIRTH_NAME, AJ_BIRTH_NAMED "%u", number);
}

int aj_birth_send(int socket, const void *data, size_t bytes, const int *fds, size_t count)
{
	union space space = { .data = { 0 } };
	struct iovec iov = { (void *)data, bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (count) {
		msg.msg_control = space.data;
		msg.msg_controllen = CMSG_SPACE(count * sizeof *fds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(count * sizeof *fds) };
		memcpy(CMSG_DATA(c), fds, count * sizeof *fds);
	}
	ssize_t n;
	do
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0 && n != (ssize_t)bytes)
		errno = EMSGSIZE;
	return n == (ssize_t)bytes ? 0 : -1;
}

int aj_birth_recv(int socket, void *data, size_t bytes, int *fds, size_t room, int flags)
{
	union space space;
	struct iovec iov = { data, bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space.data, .msg_controllen = sizeof space.data };
	for (size_t i = 0; i < room; i++)
		fds[i] = -1;
	ssize_t n;
	do
		n = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	size_t count = c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof *fds : 0;
	for (size_t i = 0; i < count; i++) {
		int fd;
		memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
		if (i < room)
			fds[i] = fd;
		else
			aj_close(&fd);
	}
	if (n == (ssize_t)bytes && !(msg.msg_flags & MSG_CTRUNC))
		return 1;
	for (size_t i = 0; i < room; i++)
		aj_close(&fds[i]);
	errno = EPROTO;
	return -1;
}
