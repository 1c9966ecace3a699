/* Sends and receives the typed messages between supervisor and init.
 * It refuses short messages, unknown kinds and unterminated strings: the sender may be a guest that broke out of its libc. */
#include "sandbox/handshake.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

int aj_msg_send(int fd, const struct aj_msg *msg)
{
	ssize_t n;
	do
		n = send(fd, msg, sizeof *msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *msg ? 0 : -1;
}

void aj_msg_error(const struct aj_msg *msg, struct aj_error *err)
{
	if (msg->reason >= AJ_REASON_PROCESS && msg->reason < AJ_REASONS)
		aj_fail_because(err, (enum aj_reason)msg->reason, msg->exit_code, msg->step, msg->errnum, "%s", msg->cause);
	else
		aj_fail(err, msg->exit_code, msg->step, msg->errnum, "%s", msg->cause);
	if (msg->fix[0])
		aj_advise(err, "%s", msg->fix);
}

/* Runs under the filter already: only write, read and close, which every allow-list has and no denied group removes. */
int aj_msg_hand_over(int fd, int listener)
{
	struct aj_msg msg = { .kind = AJ_MSG_LISTENER, .listener = listener };
	ssize_t n;
	do
		n = write(fd, &msg, sizeof msg);
	while (n < 0 && errno == EINTR);
	while (n == (ssize_t)sizeof msg && (n = read(fd, &msg, sizeof msg)) < 0 && errno == EINTR)
		n = sizeof msg;
	aj_close(&listener);
	if (n == (ssize_t)sizeof msg && msg.kind == AJ_MSG_TAKEN)
		return 0;
	errno = n < 0 ? errno : EPROTO;
	return -1;
}

_Static_assert(AJ_MSG_SENDER_BYTES == CMSG_SPACE(sizeof(struct ucred)), "room for a sender and nothing else");

pid_t aj_msg_sender(struct msghdr *msg)
{
	struct ucred cred = { 0 };
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len == CMSG_LEN(sizeof cred))
			memcpy(&cred, CMSG_DATA(c), sizeof cred);
		/* Where credentials do not fit, descriptors may. */
		for (size_t at = CMSG_LEN(0); c->cmsg_type == SCM_RIGHTS && at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			int fd;
			memcpy(&fd, (char *)c + at, sizeof fd);
			aj_close(&fd);
		}
	}
	return cred.pid;
}

int aj_msg_recv(int fd, struct aj_msg *msg, int flags)
{
	pid_t sender;
	return aj_msg_recv_from(fd, msg, flags, &sender);
}

int aj_msg_recv_from(int fd, struct aj_msg *msg, int flags, pid_t *ret_sender)
{
	union {
		char data[AJ_MSG_SENDER_BYTES];
		struct cmsghdr align;
	} space;
	struct iovec iov = { msg, sizeof *msg };
	struct msghdr whole = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space.data, .msg_controllen = sizeof space.data };
	ssize_t n;
	*ret_sender = 0;
	do
		n = recvmsg(fd, &whole, flags | MSG_TRUNC | MSG_CMSG_CLOEXEC); /* the real length, even if the message does not fit */
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	*ret_sender = aj_msg_sender(&whole);
	if (n != (ssize_t)sizeof *msg || msg->kind < AJ_MSG_MAPS_WRITTEN || msg->kind > AJ_MSG_PARTED) {
		errno = EPROTO;
		return -1;
	}
	msg->step[sizeof msg->step - 1] = '\0';
	msg->cause[sizeof msg->cause - 1] = '\0';
	msg->fix[sizeof msg->fix - 1] = '\0';
	return 1;
}
