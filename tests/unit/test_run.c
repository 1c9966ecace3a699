/* Tests of jail/run with a jail that is a socket and a process that sleeps: what counts once the jail is being ended.
 * No wall is built here: e2e/ and fault/ do that. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/interrupt.h"
#include "peer.h"

static const struct aj_plan plan = { .snippet = true, .result_bytes = 1 << 16, .capture_bytes = 1 << 16 };
static const struct aj_policy policy = { 0 };
static struct aj_run run;
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
	run = (struct aj_run){ .plan = &plan, .policy = &policy, .jail = AJ_NO_JAIL };
	run.jail.control_fd = ends[0];
	run.jail.init_pidfd = slow_init();
	cr_assert_geq(run.jail.init_pidfd, 0);
	aj_run_open(&run, 0);
	run.running = true;
}

static void done(void)
{
	aj_run_free(&run);
	aj_close(&theirs);
}
TestSuite(run, .init = start, .fini = done);

/* By a process that has ended: the kernel cannot confirm it of such a one. */
static void armed(void)
{
	say(theirs, AJ_FRAME_ARMED, "");
}

static unsigned step(void)
{
	struct pollfd fds[AJ_RUN_FDS];
	aj_run_poll(&run, fds);
	poll(fds, AJ_RUN_FDS, 0);
	return aj_run_step(&run, fds);
}

static void end(void)
{
	struct pollfd init = { .fd = run.jail.init_pidfd, .events = POLLIN };
	aj_jail_kill(&run.jail);
	poll(&init, 1, -1);
	while (!(step() & AJ_RUN_GONE))
		;
}

Test(run, a_runner_that_the_kernel_does_not_confirm_fails_the_setup)
{
	armed();
	step();
	end();
	cr_expect_eq(run.result.status, AJ_STATUS_SETUP_ERROR);
	cr_expect_str_eq(run.result.setup.step, "attest");
}

Test(run, a_runner_killed_by_an_interrupt_is_not_asked_for_its_walls)
{
	aj_run_signal(&run, SIGINT);
	armed();
	step();
	end();
	cr_expect_eq(run.result.status, AJ_STATUS_SIGNAL, "%s", run.result.reason);
	cr_expect_eq(run.result.signal, SIGINT);
}

/* The loop had waited for both before it saw to either. */
Test(run, an_interrupt_counts_before_a_message_that_came_with_it)
{
	struct pollfd fds[AJ_RUN_FDS];
	armed();
	aj_run_poll(&run, fds);
	cr_assert_gt(poll(fds, AJ_RUN_FDS, 0), 0);
	aj_run_signal(&run, SIGINT);
	aj_run_step(&run, fds);
	end();
	cr_expect_eq(run.result.status, AJ_STATUS_SIGNAL, "%s", run.result.reason);
}

Test(run, a_runner_killed_at_the_deadline_is_not_asked_for_its_walls)
{
	run.deadline_us = 0;
	aj_run_due(&run);
	armed();
	step();
	end();
	cr_expect_eq(run.result.status, AJ_STATUS_TIMEOUT, "%s", run.result.reason);
}

/* What it answered, as a session's runner says it. */
static const char ok[] = "{\"status\":\"ok\",\"value\":null,\"repr\":\"\",\"type\":\"\",\"error\":null,\"errors\":[],\"final_answer\":null,"
			 "\"is_final\":false,\"imports\":[],\"truncated\":{}}";

static void lasting(const struct aj_plan *its, const char *output)
{
	int out[2];
	cr_assert_eq(pipe(out), 0);
	cr_assert_eq(write(out[1], output, strlen(output)), (ssize_t)strlen(output));
	close(out[1]);
	run.plan = its;
	run.jail.stdout_fd = out[0];
	run.lasting = run.channel.armed = run.channel.busy = run.channel.started = true;
	say(theirs, AJ_FRAME_RESULT, ok);
}

Test(run, a_jail_that_lasts_goes_on_after_its_answer)
{
	lasting(&plan, "out");
	unsigned found = 0;
	for (int i = 0; i < 3; i++)
		found |= step();
	cr_expect_eq(found, AJ_RUN_ANSWERED);
	cr_expect_eq(run.result.status, AJ_STATUS_OK);
	cr_expect_eq(run.result.out.total_bytes, 3);
	end();
	cr_expect_eq(run.result.status, AJ_STATUS_SIGNAL, "why it ended is not what the last run said: %s", run.result.reason);
}

/* The answer is there, and output that breaks the limit still lies in the pipe. */
Test(run, an_answer_does_not_outlive_the_limit_of_output)
{
	static const struct aj_plan narrow = { .snippet = true, .result_bytes = 1 << 16, .capture_bytes = 1 << 16, .output_bytes = 2 };
	lasting(&narrow, "out");
	cr_expect_eq(step() & AJ_RUN_ANSWERED, 0, "its jail is being ended");
	end();
	cr_expect_eq(run.result.status, AJ_STATUS_LIMIT, "%s", run.result.reason);
	cr_expect(!run.facts.alive);
}

/* A runner below an init, which says what it is told. */
Test(run, a_snippet_is_told_directly_and_not_before_it_has_started)
{
	int said[2];
	uint8_t number = 0;
	sigset_t set;
	cr_assert_eq(pipe(said), 0);
	pid_t runner = fork();
	if (runner == 0) {
		sigfillset(&set);
		sigprocmask(SIG_BLOCK, &set, NULL);
		cr_assert_eq(write(said[1], "!", 1), 1);
		for (int signal; sigwait(&set, &signal) == 0;)
			cr_assert_eq(write(said[1], &(uint8_t){ (uint8_t)signal }, 1), 1);
	}
	cr_assert_eq(read(said[0], &number, 1), 1);
	run.jail.init_pid = getpid();
	run.channel.runner = runner;
	run.lasting = run.channel.armed = run.channel.busy = true;
	run.soft_ms = 20;
	run.soft_us = 0;
	aj_run_due(&run);
	struct pollfd none = { .fd = said[0], .events = POLLIN };
	cr_expect_eq(poll(&none, 1, 50), 0, "nobody in there would heed it yet");
	say(theirs, AJ_FRAME_STARTED, "");
	step();
	cr_assert_eq(read(said[0], &number, 1), 1);
	cr_expect_eq(number, SIGUSR1);
	aj_interrupt_send(&run);
	cr_expect_eq(poll(&none, 1, 0), 0, "it was told to stop already");
	kill(runner, SIGKILL);
	run.deadline_us = 0;
	aj_run_due(&run);
	end();
	cr_expect(strstr(run.result.reason, "limit of 20 ms"), "%s", run.result.reason);
}

Test(clocks, table)
{
	static const int64_t never = INT64_MAX, second = 1000000;
	/* clang-format off: a table */
	static const struct {
		bool lasting;
		uint64_t wall_ms, timeout_ms;
		int64_t soft_us, wall_us;
	} rows[] = {
		{ false, 0, 0, never, never },
		{ false, 10000, 0, never, 10 * second },
		{ false, 10000, 2000, never, 2 * second },
		{ false, 10000, 20000, never, 10 * second },
		{ false, 0, 2000, never, 2 * second },
		{ false, 0, UINT64_MAX, never, never },
		{ false, 10000, UINT64_MAX, never, 10 * second },
		{ true, 0, 0, never, never },
		{ true, 10000, 0, 9 * second, 10 * second },
		{ true, 2000, 0, 2 * second - second / 2, 2 * second },
		{ true, 10000, 2000, 2 * second, 3 * second },
		{ true, 10000, 20000, 9 * second, 10 * second },
		{ true, 0, 2000, 2 * second, 3 * second },
		{ true, 10000, UINT64_MAX, 9 * second, 10 * second },
		{ true, 0, UINT64_MAX, never, never },
		{ true, 0, UINT64_MAX / 2, never, never },
		{ true, 0, INT64_MAX / 1000, never, never },
		{ true, UINT64_MAX, 0, never, never },
		{ true, UINT64_MAX, 2000, 2 * second, 3 * second },
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_plan with = { .wall_ms = rows[i].wall_ms };
		int64_t soft_us, wall_us;
		aj_interrupt_clocks(&with, rows[i].lasting, rows[i].timeout_ms, &soft_us, &wall_us);
		cr_expect_eq(soft_us, rows[i].soft_us, "row %zu: told after %ld us", i, soft_us);
		cr_expect_eq(wall_us, rows[i].wall_us, "row %zu: killed after %ld us", i, wall_us);
	}
}

static unsigned told;

static void on_closing(struct aj_run *l, enum aj_run_fd which)
{
	const int fds[] = { [AJ_RUN_CONTROL] = l->jail.control_fd, [AJ_RUN_OUT] = l->jail.stdout_fd };
	cr_expect_geq(fcntl(fds[which], F_GETFD), 0, "%d: it is still open", which);
	told |= 1U << which;
}

/* Whoever watches them must take them out before, or a copy elsewhere goes on being told of. */
Test(run, what_will_be_closed_is_told_first)
{
	int pipe_[2];
	cr_assert_eq(pipe(pipe_), 0);
	run.jail.stdout_fd = pipe_[0];
	run.closing = on_closing;
	told = 0;
	close(pipe_[1]);
	aj_run_drain(&run);
	cr_expect_eq(run.jail.stdout_fd, -1);
	cr_expect_eq(told, 1 << AJ_RUN_OUT);
	shutdown(theirs, SHUT_WR);
	step();
	cr_expect_eq(run.jail.control_fd, -1);
	cr_expect_eq(told, 1 << AJ_RUN_OUT | 1 << AJ_RUN_CONTROL);
	end();
}
