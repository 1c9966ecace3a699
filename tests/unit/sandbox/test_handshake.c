/* Tests of sandbox/handshake: what is not exactly the expected message is never taken for one.
 * Both ends are in this process; no jail is started. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/handshake.h"

static int ends[2];

static void open_ends(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void close_ends(void)
{
	close(ends[0]);
	close(ends[1]);
}
TestSuite(handshake, .init = open_ends, .fini = close_ends);

Test(handshake, round_trip)
{
	static const uint32_t kinds[] = { AJ_MSG_MAPS_WRITTEN, AJ_MSG_FAILED, AJ_MSG_NOTE,
		                          AJ_MSG_LISTENER,     AJ_MSG_TAKEN,  AJ_MSG_EXITED };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct aj_msg in = { .kind = kinds[i], .errnum = EPERM, .exit_code = AJ_EXIT_SETUP, .step = "mounts", .cause = "why", .fix = "do" },
			      out;
		cr_expect_eq(aj_msg_send(ends[0], &in), 0);
		cr_expect_eq(aj_msg_recv(ends[1], &out, 0), 1);
		cr_expect(out.kind == in.kind && out.errnum == EPERM && out.exit_code == AJ_EXIT_SETUP);
		cr_expect_str_eq(out.step, "mounts");
		cr_expect_str_eq(out.cause, "why");
		cr_expect_str_eq(out.fix, "do");
	}
}

/* The sender is inside the jail: what it claims may select advice, and no retry, no other cgroup and no protocol code. */
Test(handshake, claimed_reasons)
{
	for (int32_t reason = -1; reason <= AJ_REASONS + 1; reason++) {
		struct aj_msg msg = { .kind = AJ_MSG_FAILED, .exit_code = AJ_EXIT_SETUP, .reason = reason, .step = "cgroup", .cause = "why" };
		struct aj_error setup = { 0 }, usage = { 0 };
		bool advice = reason == AJ_REASON_PROCESS || reason == AJ_REASON_NAMESPACE || reason == AJ_REASON_PROC ||
		              reason == AJ_REASON_MOUNT || reason == AJ_REASON_SOURCE || reason == AJ_REASON_OVERLAY;
		aj_msg_error(&msg, &setup);
		msg.exit_code = AJ_EXIT_USAGE;
		aj_msg_error(&msg, &usage);
		cr_expect_eq((int32_t)setup.reason, advice ? reason : AJ_REASON_SETUP, "reason %d became %d", reason, setup.reason);
		cr_expect_eq((int32_t)usage.reason, advice ? reason : AJ_REASON_INPUT, "reason %d became %d", reason, usage.reason);
	}
}

Test(handshake, wrong_lengths)
{
	char bytes[sizeof(struct aj_msg) + 64] = { 0 };
	struct aj_msg valid = { .kind = AJ_MSG_MAPS_WRITTEN }, msg;
	static const size_t lengths[] = { 1, 4, sizeof msg - 1, sizeof msg + 1, sizeof bytes };
	memcpy(bytes, &valid, sizeof valid);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		cr_assert_eq(send(ends[0], bytes, lengths[i], 0), (ssize_t)lengths[i]);
		errno = 0;
		cr_expect_eq(aj_msg_recv(ends[1], &msg, MSG_DONTWAIT), -1, "%zu bytes", lengths[i]);
		cr_expect_eq(errno, EPROTO, "%zu bytes", lengths[i]);
		cr_expect_eq(aj_msg_recv(ends[1], &msg, MSG_DONTWAIT), -1, "%zu bytes left something behind", lengths[i]);
		cr_expect_eq(errno, EAGAIN);
	}
	cr_assert_eq(send(ends[0], bytes, 0, 0), 0);
	cr_expect_neq(aj_msg_recv(ends[1], &msg, MSG_DONTWAIT), 1, "an empty message");
}

Test(handshake, unknown_kinds)
{
	static const uint32_t kinds[] = { 0, 1, AJ_MSG_MAPS_WRITTEN - 1, AJ_MSG_SOCKETS + 1, 0xffffffff };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct aj_msg msg = { .kind = kinds[i] };
		aj_msg_send(ends[0], &msg);
		errno = 0;
		cr_expect_eq(aj_msg_recv(ends[1], &msg, 0), -1, "kind %#x", kinds[i]);
		cr_expect_eq(errno, EPROTO);
	}
}

/* The other side may be an attacker: its strings end where ours do. */
Test(handshake, unterminated_strings)
{
	struct aj_msg msg;
	memset(&msg, 'x', sizeof msg);
	msg.kind = AJ_MSG_FAILED;
	aj_msg_send(ends[0], &msg);
	cr_expect_eq(aj_msg_recv(ends[1], &msg, 0), 1);
	cr_expect_eq(strlen(msg.step), sizeof msg.step - 1);
	cr_expect_eq(strlen(msg.cause), sizeof msg.cause - 1);
	cr_expect_eq(strlen(msg.fix), sizeof msg.fix - 1);
}

Test(handshake, nothing_there_yet)
{
	struct aj_msg msg;
	errno = 0;
	cr_expect_eq(aj_msg_recv(ends[1], &msg, MSG_DONTWAIT), -1);
	cr_expect_eq(errno, EAGAIN);
}

/* A closed socket is never consent, and never a SIGPIPE. */
Test(handshake, peer_gone)
{
	struct aj_msg msg = { .kind = AJ_MSG_MAPS_WRITTEN };
	shutdown(ends[0], SHUT_RDWR);
	cr_expect_eq(aj_msg_recv(ends[1], &msg, 0), 0);
	cr_expect_eq(aj_msg_send(ends[1], &msg), -1);
	cr_expect_eq(errno, EPIPE);
}

Test(handshake, what_was_sent_before_the_end_still_arrives)
{
	struct aj_msg msg = { .kind = AJ_MSG_EXITED, .wait_status = 0x100 };
	aj_msg_send(ends[0], &msg);
	shutdown(ends[0], SHUT_RDWR);
	msg = (struct aj_msg){ 0 };
	cr_expect_eq(aj_msg_recv(ends[1], &msg, 0), 1);
	cr_expect_eq(msg.wait_status, 0x100);
	cr_expect_eq(aj_msg_recv(ends[1], &msg, 0), 0);
}

/* The kernel names the sender, and only where it was asked. */
Test(handshake, senders)
{
	struct aj_msg msg = { .kind = AJ_MSG_NOTE };
	pid_t sender = 7;
	int on = 1, status;
	aj_msg_send(ends[0], &msg);
	cr_expect_eq(aj_msg_recv_from(ends[1], &msg, 0, &sender, NULL), 1);
	cr_expect_eq(sender, 0);
	cr_assert_eq(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
	pid_t child = fork();
	if (child == 0)
		_exit(aj_msg_send(ends[0], &msg) < 0);
	cr_expect_eq(aj_msg_recv_from(ends[1], &msg, 0, &sender, NULL), 1);
	cr_expect_eq(sender, child);
	waitpid(child, &status, 0);
}

/* This end wants no descriptor: one that comes along does not stay. */
Test(handshake, descriptors_are_dropped)
{
	struct aj_msg msg = { .kind = AJ_MSG_NOTE };
	char space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { &msg, sizeof msg };
	struct msghdr whole = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	struct cmsghdr *c = CMSG_FIRSTHDR(&whole);
	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(c), &ends[0], sizeof(int));
	int lowest = dup(0), on = 1;
	close(lowest);
	for (int passcred = 0; passcred < 2; passcred++) {
		cr_assert_eq(sendmsg(ends[0], &whole, 0), (ssize_t)sizeof msg);
		pid_t sender;
		cr_expect_eq(aj_msg_recv_from(ends[1], &msg, 0, &sender, NULL), 1);
		int now = dup(0);
		cr_expect_eq(now, lowest);
		close(now);
		cr_assert_eq(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
	}
}

Test(handshake, the_end_of_the_peer)
{
	struct aj_msg msg = { .kind = AJ_MSG_TAKEN };
	cr_expect_not(aj_msg_peer_gone(ends[1]));
	aj_msg_send(ends[0], &msg);
	cr_expect_not(aj_msg_peer_gone(ends[1]), "a message is no end");
	close(ends[0]);
	cr_expect(aj_msg_peer_gone(ends[1]), "the end comes even where a message is left");
	ends[0] = dup(0);
}

Test(handshake, handing_over)
{
	struct aj_msg msg = { .kind = AJ_MSG_TAKEN };
	int fd = dup(0);
	aj_msg_send(ends[1], &msg);
	cr_expect_eq(aj_msg_hand_over(ends[0], fd), 0);
	cr_expect_eq(close(fd), -1, "the guest's own is closed");
	cr_expect(aj_msg_recv(ends[1], &msg, 0) == 1 && msg.kind == AJ_MSG_LISTENER && msg.listener == fd);
	msg.kind = AJ_MSG_MAPS_WRITTEN;
	aj_msg_send(ends[1], &msg);
	cr_expect_eq(aj_msg_hand_over(ends[0], -1), -1);
	cr_expect_eq(errno, EPROTO);
	shutdown(ends[1], SHUT_RDWR);
	cr_expect_eq(aj_msg_hand_over(ends[0], -1), -1);
}

Test(handshake, not_a_socket)
{
	struct aj_msg msg = { .kind = AJ_MSG_FAILED };
	cr_expect_eq(aj_msg_recv(-1, &msg, 0), -1);
	cr_expect_eq(errno, EBADF);
	cr_expect_eq(aj_msg_send(-1, &msg), -1);
}
