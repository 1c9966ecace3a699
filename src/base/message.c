/* Sends and receives messages with descriptors, and learns who sent one.
 * It keeps no descriptor that the caller did not ask for, and treats a short message as an error. */
#include "base/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

union control {
	char fd[CMSG_SPACE(sizeof(int))];
	char sender[CMSG_SPACE(sizeof(struct ucred))];
	char all[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(AJ_PASSED_MAX * sizeof(int))];
	struct cmsghdr align;
};

int aj_message_send_all(int socket, const void *data, size_t bytes, const int *fds, size_t count)
{
	union control control = { .all = { 0 } };
	struct iovec iov = { (void *)data, bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (count > AJ_PASSED_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (count) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof *fds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof *fds);
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

int aj_message_send(int socket, const void *data, size_t bytes, int fd)
{
	return aj_message_send_all(socket, data, bytes, &fd, fd >= 0);
}

/* Take the sender, and as many descriptors as are wanted (`passed`; NULL: none); close all others. */
static void take_control(struct msghdr *msg, pid_t *ret_sender, struct aj_passed *passed, size_t most)
{
	struct ucred cred;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (ret_sender && c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len == CMSG_LEN(sizeof cred)) {
			memcpy(&cred, CMSG_DATA(c), sizeof cred);
			*ret_sender = cred.pid;
		}
		for (size_t at = CMSG_LEN(0); c->cmsg_type == SCM_RIGHTS && at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			int fd;
			memcpy(&fd, (char *)c + at, sizeof fd);
			if (passed && passed->count < most)
				passed->fds[passed->count++] = aj_steal(&fd);
			aj_close(&fd);
		}
	}
}

int aj_message_recv(int socket, void *data, size_t bytes, int *ret_fd, int flags)
{
	union control control;
	struct iovec iov = { data, bytes };
	/* The kernel discards descriptors for which there is no room. */
	struct msghdr msg = { .msg_iov = &iov,
		              .msg_iovlen = 1,
		              .msg_control = ret_fd ? &control : NULL,
		              .msg_controllen = ret_fd ? CMSG_LEN(sizeof(int)) : 0 };
	struct aj_passed passed = { .count = 0 };
	ssize_t n;
	if (ret_fd)
		*ret_fd = -1;
	do
		n = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	/* An empty message looks like the end of the stream, but may bring descriptors. */
	take_control(&msg, NULL, &passed, n && ret_fd ? 1 : 0);
	if (ret_fd && passed.count)
		*ret_fd = passed.fds[0];
	if (n == 0)
		return 0;
	if (n == (ssize_t)bytes && !(msg.msg_flags & MSG_CTRUNC))
		return 1;
	if (ret_fd)
		aj_close(ret_fd);
	errno = EPROTO;
	return -1;
}

ssize_t aj_recv_from(int socket, void *data, size_t bytes, int flags, pid_t *ret_sender, struct aj_passed *ret_passed)
{
	union control control;
	struct iovec iov = { data, bytes };
	/* Where credentials do not fit, descriptors may: none is left open either way. */
	struct msghdr msg = { .msg_iov = &iov,
		              .msg_iovlen = 1,
		              .msg_control = &control,
		              .msg_controllen = ret_passed ? sizeof control.all : sizeof control.sender };
	ssize_t n = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	*ret_sender = 0;
	if (ret_passed)
		ret_passed->count = 0;
	if (n >= 0)
		take_control(&msg, ret_sender, ret_passed, AJ_PASSED_MAX);
	return n;
}
