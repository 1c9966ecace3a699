/* Tests of base/message: whole messages with a descriptor or without, and what is no whole message. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/message.h"

struct order {
	int number;
	char text[60];
};

static int ends[2];

static void start(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
}
TestSuite(message, .init = start);

static int open_fds(void)
{
	int count = 0;
	for (int fd = 0; fd < 64; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

Test(message, whole_with_a_descriptor_or_without)
{
	int pipe_fds[2], got;
	struct order order = { .number = 5, .text = "leaf" }, back;
	cr_assert_eq(pipe(pipe_fds), 0);
	cr_assert_eq(aj_message_send(ends[0], &order, sizeof order, pipe_fds[1]), 0);
	cr_assert_eq(aj_message_recv(ends[1], &back, sizeof back, &got, 0), 1);
	cr_expect_eq(memcmp(&order, &back, sizeof order), 0);
	char byte;
	cr_assert_eq(write(got, "x", 1), 1);
	cr_expect(read(pipe_fds[0], &byte, 1) == 1 && byte == 'x');
	cr_expect_eq(fcntl(got, F_GETFD), FD_CLOEXEC);
	cr_assert_eq(aj_message_send(ends[0], &order, sizeof order, -1), 0);
	cr_assert_eq(aj_message_recv(ends[1], &back, sizeof back, &got, 0), 1);
	cr_expect_eq(got, -1);
}

static void send_three(const void *data, size_t bytes)
{
	int three[] = { 0, 0, 0 };
	union {
		char data[CMSG_SPACE(sizeof three)];
		struct cmsghdr align;
	} space = { .data = { 0 } };
	struct iovec iov = { (void *)data, bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space.data, .msg_controllen = sizeof space.data };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof three) };
	memcpy(CMSG_DATA(c), three, sizeof three);
	cr_assert_eq(sendmsg(ends[0], &msg, 0), (ssize_t)bytes);
}

/* A descriptor that was not asked for, or came with half a message, is not left open. */
Test(message, nothing_is_left_open)
{
	int got, before = open_fds();
	struct order born = { 0 };
	send_three(&born, sizeof born);
	cr_expect_eq(aj_message_recv(ends[1], &born, sizeof born, &got, 0), -1);
	cr_expect(errno == EPROTO && got == -1);
	send_three(&born, sizeof born);
	cr_expect_eq(aj_message_recv(ends[1], &born, sizeof born, NULL, 0), -1);
	cr_expect_eq(errno, EPROTO);
	cr_assert_eq(aj_message_send(ends[0], &born, sizeof born / 2, 0), 0);
	cr_expect_eq(aj_message_recv(ends[1], &born, sizeof born, &got, 0), -1);
	cr_expect(errno == EPROTO && got == -1);
	cr_expect_eq(open_fds(), before);
}

Test(message, an_empty_one_with_descriptors_leaves_none_open)
{
	int got, before;
	pid_t sender;
	close(ends[0]);
	close(ends[1]);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	before = open_fds();
	send_three("", 0);
	cr_expect_eq(aj_message_recv(ends[1], &(struct order){ 0 }, sizeof(struct order), &got, 0), 0);
	cr_expect_eq(got, -1);
	cr_expect_eq(open_fds(), before);
	send_three("", 0);
	cr_expect_eq(aj_recv_from(ends[1], &(struct order){ 0 }, sizeof(struct order), 0, &sender, NULL), 0);
	cr_expect_eq(sender, 0);
	cr_expect_eq(open_fds(), before);
}

Test(message, several_descriptors_and_no_more_than_that)
{
	int pipes[2], on = 1, many[AJ_PASSED_MAX + 1] = { 0 };
	struct aj_passed passed;
	struct order order = { .number = 1 };
	pid_t sender;
	cr_assert_eq(pipe(pipes), 0);
	for (int attested = 0; attested < 2; attested++) {
		int before = open_fds();
		cr_assert_eq(aj_message_send_all(ends[0], &order, sizeof order, (int[]){ pipes[0], pipes[1], 0 }, 3), 0);
		cr_assert_eq(aj_recv_from(ends[1], &order, sizeof order, 0, &sender, &passed), (ssize_t)sizeof order);
		cr_assert_eq(passed.count, 3);
		cr_expect_eq(sender, attested ? getpid() : 0);
		char byte;
		cr_expect(write(passed.fds[1], "x", 1) == 1 && read(passed.fds[0], &byte, 1) == 1 && byte == 'x', "in their order");
		for (size_t i = 0; i < passed.count; i++) {
			cr_expect_eq(fcntl(passed.fds[i], F_GETFD), FD_CLOEXEC);
			close(passed.fds[i]);
		}
		cr_assert_eq(aj_message_send_all(ends[0], &order, sizeof order, many, AJ_PASSED_MAX), 0);
		cr_assert_eq(aj_recv_from(ends[1], &order, sizeof order, 0, &sender, NULL), (ssize_t)sizeof order);
		cr_expect_eq(open_fds(), before);
		cr_assert_eq(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
	}
	cr_expect_eq(aj_message_send_all(ends[0], &order, sizeof order, many, AJ_PASSED_MAX + 1), -1);
}

Test(message, end_and_nothing)
{
	int got;
	struct order born;
	cr_expect_eq(aj_message_recv(ends[1], &born, sizeof born, &got, MSG_DONTWAIT), -1);
	cr_expect_eq(errno, EAGAIN);
	close(ends[0]);
	cr_expect_eq(aj_message_recv(ends[1], &born, sizeof born, &got, 0), 0);
	cr_expect_eq(aj_message_send(ends[1], &born, sizeof born, -1), -1);
	cr_expect_eq(errno, EPIPE);
}
