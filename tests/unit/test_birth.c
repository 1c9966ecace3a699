/* Tests of sandbox/birth: orders and answers with their descriptors, and what is no whole message. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/birth.h"

static int ends[2];

static void start(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
}
TestSuite(birth, .init = start);

static int open_fds(void)
{
	int count = 0;
	for (int fd = 0; fd < 64; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

Test(birth, order_with_descriptors)
{
	int pipe_fds[2], got[AJ_BIRTH_FDS];
	struct aj_birth order = { .has_cgroup = 1 }, back;
	cr_assert_eq(pipe(pipe_fds), 0);
	memset(order.entropy, 7, sizeof order.entropy);
	int fds[] = { pipe_fds[0], pipe_fds[1], 0, 0, 0, pipe_fds[1] };
	cr_assert_eq(aj_birth_send(ends[0], &order, sizeof order, fds, AJ_BIRTH_FDS), 0);
	cr_assert_eq(aj_birth_recv(ends[1], &back, sizeof back, got, AJ_BIRTH_FDS, 0), 1);
	cr_expect_eq(memcmp(&order, &back, sizeof order), 0);
	cr_assert_eq(write(got[AJ_BIRTH_CGROUP], "x", 1), 1);
	char byte;
	cr_expect(read(got[AJ_BIRTH_REPORT], &byte, 1) == 1 && byte == 'x');
	for (size_t i = 0; i < AJ_BIRTH_FDS; i++)
		cr_expect_eq(fcntl(got[i], F_GETFD), FD_CLOEXEC);
}

Test(birth, fewer_descriptors_than_room)
{
	int got[AJ_BIRTH_FDS], one = 0;
	struct aj_born born = { .pid = 5 };
	cr_assert_eq(aj_birth_send(ends[0], &born, sizeof born, &one, 1), 0);
	cr_assert_eq(aj_birth_recv(ends[1], &born, sizeof born, got, AJ_BIRTH_FDS, 0), 1);
	cr_expect_geq(got[0], 0);
	for (size_t i = 1; i < AJ_BIRTH_FDS; i++)
		cr_expect_eq(got[i], -1);
	cr_assert_eq(aj_birth_send(ends[0], &born, sizeof born, NULL, 0), 0);
	cr_assert_eq(aj_birth_recv(ends[1], &born, sizeof born, got, 1, 0), 1);
	cr_expect_eq(got[0], -1);
}

/* What nobody asked for, or what came with half a message, is not left open. */
Test(birth, nothing_is_left_open)
{
	int three[] = { 0, 0, 0 }, got[1];
	struct aj_born born = { 0 };
	int before = open_fds();
	cr_assert_eq(aj_birth_send(ends[0], &born, sizeof born, three, 3), 0);
	cr_assert_eq(aj_birth_recv(ends[1], &born, sizeof born, got, 1, 0), 1);
	close(got[0]);
	cr_assert_eq(aj_birth_send(ends[0], &born, sizeof born / 2, three, 1), 0);
	cr_expect_eq(aj_birth_recv(ends[1], &born, sizeof born, got, 1, 0), -1);
	cr_expect_eq(errno, EPROTO);
	cr_expect_eq(got[0], -1);
	cr_expect_eq(open_fds(), before);
}

Test(birth, end_and_nothing)
{
	int got[1];
	struct aj_born born;
	cr_expect_eq(aj_birth_recv(ends[1], &born, sizeof born, got, 1, MSG_DONTWAIT), -1);
	cr_expect_eq(errno, EAGAIN);
	close(ends[0]);
	cr_expect_eq(aj_birth_recv(ends[1], &born, sizeof born, got, 1, 0), 0);
	cr_expect_eq(aj_birth_send(ends[1], &born, sizeof born, NULL, 0), -1);
	cr_expect_eq(errno, EPIPE);
}
