/* Sends and receives the typed messages between supervisor and init.
 * It refuses short messages, unknown kinds and unterminated strings: the sender may be a guest that broke out of its libc. */
#include "sandbox/handshake.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/message.h"

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

bool aj_msg_peer_gone(int fd)
{
	return poll(&(struct pollfd){ .fd = fd }, 1, 0) != 0;
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

/* Another jail of this user may have filled the count of descriptors in flight, which the kernel holds against the sender's soft
 * limit on open files: raised for this one message, since the guest is to inherit the caller's. */
static int send_fds(int fd, enum aj_msg_kind kind, const int *fds, size_t count)
{
	const struct aj_msg msg = { .kind = kind };
	struct rlimit before;
	if (getrlimit(RLIMIT_NOFILE, &before) < 0)
		return -1;
	aj_fd_raise_limit();
	int r = aj_message_send_all(fd, &msg, sizeof msg, fds, count);
	return setrlimit(RLIMIT_NOFILE, &before) < 0 ? -1 : r;
}

int aj_msg_hand_over_fds(int fd, enum aj_msg_kind kind, int *fds, size_t count)
{
	struct aj_msg msg;
	int sent = send_fds(fd, kind, fds, count), errnum = errno;
	for (size_t i = 0; i < count; i++)
		aj_close(&fds[i]);
	errno = errnum;
	if (sent < 0)
		return -1;
	int r = aj_msg_recv(fd, &msg, 0);
	if (r > 0 && msg.kind == AJ_MSG_TAKEN)
		return 0;
	errno = r < 0 ? errno : 0;
	return -1;
}

int aj_msg_recv(int fd, struct aj_msg *msg, int flags)
{
	pid_t sender;
	return aj_msg_recv_from(fd, msg, flags, &sender, NULL);
}

int aj_msg_recv_from(int fd, struct aj_msg *msg, int flags, pid_t *ret_sender, struct aj_passed *ret_passed)
{
	ssize_t n;
	do /* MSG_TRUNC: the real length, even if the message does not fit */
		n = aj_recv_from(fd, msg, sizeof *msg, flags | MSG_TRUNC, ret_sender, ret_passed);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	if (n != (ssize_t)sizeof *msg || msg->kind < AJ_MSG_MAPS_WRITTEN || msg->kind > AJ_MSG_SOCKETS) {
		errno = EPROTO;
		return -1;
	}
	msg->step[sizeof msg->step - 1] = '\0';
	msg->cause[sizeof msg->cause - 1] = '\0';
	msg->fix[sizeof msg->fix - 1] = '\0';
	return 1;
}
