/* Sends and receives whole messages between a supervisor and its zygote or its own helper.
 * It keeps no descriptor that the caller did not ask for, and treats a short message as an error. */
#include "sandbox/birth_protocol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

void aj_birth_name(char ret[AJ_BIRTH_NAME], uint32_t number)
{
	snprintf(ret, AJ_BIRTH_NAME, AJ_BIRTH_NAMED "%u", number);
}

union space {
	char data[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int aj_birth_send(int socket, const void *data, size_t bytes, int fd)
{
	union space space = { .data = { 0 } };
	struct iovec iov = { (void *)data, bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (fd >= 0) {
		msg.msg_control = space.data;
		msg.msg_controllen = sizeof space.data;
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd) };
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	ssize_t n;
	do
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0 && n != (ssize_t)bytes)
		errno = EMSGSIZE;
	return n == (ssize_t)bytes ? 0 : -1;
}

int aj_birth_recv(int socket, void *data, size_t bytes, int *ret_fd, int flags)
{
	union space space;
	struct iovec iov = { data, bytes };
	/* The kernel discards descriptors for which there is no room. */
	struct msghdr msg = { .msg_iov = &iov,
		              .msg_iovlen = 1,
		              .msg_control = ret_fd ? space.data : NULL,
		              .msg_controllen = ret_fd ? CMSG_LEN(sizeof(int)) : 0 };
	ssize_t n;
	if (ret_fd)
		*ret_fd = -1;
	do
		n = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	if (ret_fd && c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof *ret_fd))
		memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
	if (n == (ssize_t)bytes && !(msg.msg_flags & MSG_CTRUNC))
		return 1;
	if (ret_fd)
		aj_close(ret_fd);
	errno = EPROTO;
	return -1;
}
