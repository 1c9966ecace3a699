/* Tests of run/live with a jail that is a socket and a process that sleeps: what counts once the jail is being ended.
 * No wall is built here: e2e/ and fault/ do that. */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/live.h"

static const struct aj_plan plan = { .snippet = true, .result_bytes = 1 << 16, .capture_bytes = 1 << 16 };
static const struct aj_policy policy = { 0 };
static struct aj_live live;
static int theirs;

/* An init that takes its time: nothing ends it but SIGKILL. */
static int slow_init(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	pid_t pid = fork();
	for (; pid == 0;)
		pause();
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void start(void)
{
	int ends[2];
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	theirs = ends[1];
	live = (struct aj_live){ .plan = &plan, .policy = &policy, .jail = AJ_NO_JAIL };
	live.jail.control_fd = ends[0];
	live.jail.init_pidfd = slow_init();
	cr_assert_geq(live.jail.init_pidfd, 0);
	aj_live_open(&live, 0);
	live.running = true;
}

static void done(void)
{
	aj_live_free(&live);
	aj_close(&theirs);
}
TestSuite(live, .init = start, .fini = done);

/* By a process that has ended: the kernel cannot confirm it of such a one. */
static void armed(void)
{
	unsigned char header[AJ_FRAME_HEADER];
	aj_frame_header(header, 0, AJ_FRAME_ARMED);
	cr_assert_eq(aj_write_all(theirs, header, sizeof header), 0);
}

static unsigned step(void)
{
	struct pollfd fds[AJ_LIVE_FDS];
	aj_live_poll(&live, fds);
	poll(fds, AJ_LIVE_FDS, 0);
	return aj_live_step(&live, fds);
}

static void end(void)
{
	struct pollfd init = { .fd = live.jail.init_pidfd, .events = POLLIN };
	aj_jail_kill(&live.jail);
	poll(&init, 1, -1);
	while (!(step() & AJ_LIVE_GONE))
		;
}

Test(live, a_runner_that_the_kernel_does_not_confirm_fails_the_setup)
{
	armed();
	step();
	end();
	cr_expect_eq(live.result.status, AJ_STATUS_SETUP_ERROR);
	cr_expect_str_eq(live.result.setup.step, "attest");
}

Test(live, a_runner_killed_by_an_interrupt_is_not_asked_for_its_walls)
{
	aj_live_signal(&live, SIGINT);
	armed();
	step();
	end();
	cr_expect_eq(live.result.status, AJ_STATUS_SIGNAL, "%s", live.result.reason);
	cr_expect_eq(live.result.signal, SIGINT);
}

/* The loop had waited for both before it saw to either. */
Test(live, an_interrupt_counts_before_a_message_that_came_with_it)
{
	struct pollfd fds[AJ_LIVE_FDS];
	armed();
	aj_live_poll(&live, fds);
	cr_assert_gt(poll(fds, AJ_LIVE_FDS, 0), 0);
	aj_live_signal(&live, SIGINT);
	aj_live_step(&live, fds);
	end();
	cr_expect_eq(live.result.status, AJ_STATUS_SIGNAL, "%s", live.result.reason);
}

Test(live, a_runner_killed_at_the_deadline_is_not_asked_for_its_walls)
{
	live.deadline_us = 0;
	aj_live_due(&live);
	armed();
	step();
	end();
	cr_expect_eq(live.result.status, AJ_STATUS_TIMEOUT, "%s", live.result.reason);
}
