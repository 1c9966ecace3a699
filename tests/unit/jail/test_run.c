/* Tests of jail/run with a jail that is a socket and a process that sleeps: what counts once the jail is being ended.
 * No wall is built here: e2e/ and fault/ do that. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/interrupt.h"
#include "peer.h"
#include "sandbox/launch.h"

static const struct aj_plan plan = { .snippet = true, .result_bytes = 1 << 16, .capture_bytes = 1 << 16 };
static const struct aj_policy policy = { 0 };
static struct aj_jail jail;
static int theirs;
static unsigned seen; /* AJ_JAIL_* bits so far */

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

static void on_event(struct aj_jail *its, unsigned found)
{
	cr_expect_eq(its, &jail);
	seen |= found;
}

static void start(void)
{
	int ends[2];
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	theirs = ends[1];
	seen = 0;
	jail = (struct aj_jail){ .loop = aj_loop_new(), .built.plan = &plan, .policy = &policy, .on_event = on_event, .process = AJ_NO_PROCESS };
	jail.process.control_fd = ends[0];
	jail.process.init_pidfd = slow_init();
	cr_assert_geq(jail.process.init_pidfd, 0);
	cr_assert_eq(aj_jail_open(&jail, 0), 0);
	jail.running = true;
}

static void done(void)
{
	aj_jail_free(&jail);
	aj_loop_free(jail.loop);
	aj_close(&theirs);
}
TestSuite(jail, .init = start, .fini = done);

/* By a process that has ended: the kernel cannot confirm it of such a one. */
static void armed(void)
{
	say(theirs, AJ_FRAME_ARMED, "");
}

/* One turn of its loop, for what a test has changed by hand, too. */
static void step(void)
{
	aj_jail_watch(&jail);
	cr_assert_eq(aj_loop_turn(jail.loop, 0), 0);
}

static void end(void)
{
	aj_process_kill(&jail.process);
	while (!(seen & AJ_JAIL_GONE))
		cr_assert_eq(aj_loop_turn(jail.loop, INT64_MAX), 0);
	cr_expect(jail.gone);
	cr_expect_eq(aj_loop_next_us(jail.loop), INT64_MAX, "nothing is due any more");
}

Test(jail, a_runner_that_the_kernel_does_not_confirm_fails_the_setup)
{
	armed();
	step();
	end();
	cr_expect_eq(jail.outcome.result.status, AJ_STATUS_SETUP_ERROR);
	cr_expect_str_eq(jail.outcome.result.setup.step, "attest");
}

Test(jail, a_runner_killed_by_an_interrupt_is_not_asked_for_its_walls)
{
	aj_jail_signal(&jail, SIGINT);
	armed();
	step();
	end();
	cr_expect_eq(jail.outcome.result.status, AJ_STATUS_SIGNAL, "%s", jail.outcome.result.reason);
	cr_expect_eq(jail.outcome.result.signal, SIGINT);
}

static void on_signal(struct aj_io *io, uint32_t events)
{
	(void)events;
	aj_loop_unwatch(jail.loop, io);
	aj_jail_signal(&jail, SIGINT);
}

/* The loop finds both in one turn, and the message was there first. */
Test(jail, an_interrupt_counts_before_a_message_that_came_with_it)
{
	int signal[2];
	struct aj_io signals = { .fn = on_signal, .fd = -1, .urgent = true };
	cr_assert_eq(pipe(signal), 0);
	cr_assert_eq(aj_loop_watch(jail.loop, &signals, signal[0], EPOLLIN), 0);
	armed();
	cr_assert_eq(write(signal[1], "!", 1), 1);
	step();
	end();
	cr_expect_eq(jail.outcome.result.status, AJ_STATUS_SIGNAL, "%s", jail.outcome.result.reason);
}

/* The supervisor was stopped for a while: its deadline is over, but the jail had ended before. */
Test(jail, an_end_counts_before_a_deadline_that_passed_with_it)
{
	struct pollfd init = { .fd = jail.process.init_pidfd, .events = POLLIN };
	aj_process_kill(&jail.process);
	cr_assert_eq(poll(&init, 1, -1), 1);
	aj_jail_limit(&jail, 0);
	step();
	cr_expect_eq(seen, AJ_JAIL_GONE);
	cr_expect_eq(jail.outcome.result.status, AJ_STATUS_SETUP_ERROR, "%s", jail.outcome.result.reason);
}

Test(jail, a_runner_killed_at_the_deadline_is_not_asked_for_its_walls)
{
	aj_jail_limit(&jail, 0);
	step();
	armed();
	step();
	end();
	cr_expect_eq(jail.outcome.result.status, AJ_STATUS_TIMEOUT, "%s", jail.outcome.result.reason);
}

/* The answer as a session's runner sends it. */
static const char ok[] = "{\"status\":\"ok\",\"value\":null,\"repr\":\"\",\"type\":\"\",\"error\":null,\"errors\":[],\"final_answer\":null,"
			 "\"is_final\":false,\"imports\":[],\"truncated\":{}}";

static void lasting(const struct aj_plan *its, const char *output)
{
	int out[2];
	cr_assert_eq(pipe(out), 0);
	cr_assert_eq(write(out[1], output, strlen(output)), (ssize_t)strlen(output));
	close(out[1]);
	jail.built.plan = its;
	jail.process.stdout_fd = out[0];
	jail.lasting = jail.channel.armed = jail.channel.busy = jail.channel.started = true;
	say(theirs, AJ_FRAME_RESULT, ok);
}

Test(jail, a_jail_that_lasts_goes_on_after_its_answer)
{
	lasting(&plan, "out");
	for (int i = 0; i < 3; i++)
		step();
	cr_expect_eq(seen, AJ_JAIL_ANSWERED);
	cr_expect_eq(jail.outcome.result.status, AJ_STATUS_OK);
	cr_expect_eq(jail.outcome.result.out.total_bytes, 3);
	end();
	cr_expect_eq(jail.outcome.result.status, AJ_STATUS_SIGNAL, "why it ended is not what the last run said: %s",
	             jail.outcome.result.reason);
}

/* The answer is there, and output that breaks the limit still lies in the pipe. */
Test(jail, an_answer_does_not_outlive_the_limit_of_output)
{
	static const struct aj_plan narrow = { .snippet = true, .result_bytes = 1 << 16, .capture_bytes = 1 << 16, .output_bytes = 2 };
	lasting(&narrow, "out");
	step();
	cr_expect(jail.stopping);
	end();
	cr_expect_eq(seen, AJ_JAIL_GONE, "it was not answered");
	cr_expect_eq(jail.outcome.result.status, AJ_STATUS_LIMIT, "%s", jail.outcome.result.reason);
	cr_expect(!jail.outcome.facts.alive);
}

/* A runner below an init, which says what it is told. */
Test(jail, a_snippet_is_told_directly_and_not_before_it_has_started)
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
	jail.process.init_pid = getpid();
	jail.channel.runner = runner;
	jail.lasting = jail.channel.armed = jail.channel.busy = true;
	jail.outcome.facts.limit_ms = 20;
	jail.deadlines.soft_us = 0;
	step();
	struct pollfd none = { .fd = said[0], .events = POLLIN };
	cr_expect_eq(poll(&none, 1, 50), 0, "nobody in there would heed it yet");
	say(theirs, AJ_FRAME_STARTED, "");
	step();
	cr_assert_eq(read(said[0], &number, 1), 1);
	cr_expect_eq(number, SIGUSR1);
	aj_interrupt_send(&jail);
	cr_expect_eq(poll(&none, 1, 0), 0, "it was told to stop already");
	kill(runner, SIGKILL);
	aj_jail_limit(&jail, 0);
	step();
	end();
	cr_expect(strstr(jail.outcome.result.reason, "limit of 20 ms"), "%s", jail.outcome.result.reason);
}

Test(clocks, table)
{
	static const int64_t never = INT64_MAX, second = 1000000;
	/* clang-format off: a table */
	static const struct {
		bool snippet;
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
		{ true, 10000, 0, 10 * second, 11 * second },
		{ true, 2000, 0, 2 * second, 3 * second },
		{ true, 20, 0, second / 50, second / 50 + second },
		{ true, 10000, 2000, 2 * second, 3 * second },
		{ true, 10000, 20000, 10 * second, 11 * second },
		{ true, 0, 2000, 2 * second, 3 * second },
		{ true, 10000, UINT64_MAX, 10 * second, 11 * second },
		{ true, 0, UINT64_MAX, never, never },
		{ true, 0, UINT64_MAX / 2, never, never },
		{ true, 0, INT64_MAX / 1000, never, never },
		{ true, UINT64_MAX, 0, never, never },
		{ true, UINT64_MAX, 2000, 2 * second, 3 * second },
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_plan with = { .snippet = rows[i].snippet, .wall_ms = rows[i].wall_ms };
		int64_t soft_us, wall_us;
		aj_jail_time_limits(&with, rows[i].timeout_ms, &soft_us, &wall_us);
		cr_expect_eq(soft_us, rows[i].soft_us, "row %zu: interrupted after %ld us", i, soft_us);
		cr_expect_eq(wall_us, rows[i].wall_us, "row %zu: killed after %ld us", i, wall_us);
	}
}

/* Another process has a copy of each: epoll continues reporting a descriptor that was closed before it was taken out. */
Test(jail, what_is_closed_is_not_watched_any_more)
{
	int out[2], copies[2];
	cr_assert_eq(pipe(out), 0);
	jail.process.stdout_fd = out[0];
	step();
	copies[0] = dup(out[0]);
	copies[1] = dup(jail.process.control_fd);
	close(out[1]);
	aj_jail_drain(&jail);
	cr_expect_eq(jail.process.stdout_fd, -1);
	shutdown(theirs, SHUT_WR);
	step();
	cr_expect_eq(jail.process.control_fd, -1);
	struct pollfd loop = { .fd = aj_loop_fd(jail.loop), .events = POLLIN };
	cr_expect_eq(poll(&loop, 1, 0), 0, "nothing is ready");
	end();
	cr_expect_eq(poll(&loop, 1, 0), 0);
	close(copies[0]);
	close(copies[1]);
}

/* epoll takes no regular file, and poll() says of one what it says of a process that has ended. */
Test(jail, a_jail_that_cannot_be_watched_ends_all_the_same)
{
	aj_process_kill(&jail.process);
	aj_jail_unwatch(&jail, AJ_JAIL_INIT);
	aj_close(&jail.process.init_pidfd);
	jail.process.init_pidfd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	aj_jail_watch(&jail);
	while (!(seen & AJ_JAIL_GONE))
		cr_assert_eq(aj_loop_turn(jail.loop, INT64_MAX), 0);
	cr_expect_eq(jail.outcome.result.status, AJ_STATUS_SETUP_ERROR);
	cr_expect_str_eq(jail.outcome.result.setup.step, "watch");
}

/* While output cannot be passed on, the destination is watched in the place of the jail's pipe. */
Test(jail, a_full_destination_stops_the_reading)
{
	static struct aj_pump pumps[2];
	static char fill[1 << 16];
	int out[2], to[2];
	char byte;
	cr_assert(pipe2(out, O_NONBLOCK) == 0 && pipe2(to, O_NONBLOCK) == 0);
	while (write(to[1], fill, sizeof fill) > 0)
		;
	pumps[0] = pumps[1] = (struct aj_pump){ .fd = -1 };
	pumps[0].fd = to[1];
	jail.terminal.pump = pumps;
	jail.process.stdout_fd = out[0];
	cr_assert_eq(write(out[1], "x", 1), 1);
	step();
	cr_expect_eq(pumps[0].bytes, 1);
	cr_assert_eq(write(out[1], "y", 1), 1);
	step();
	cr_expect_eq(pumps[0].total_bytes, 1, "`y` stays in the jail's pipe");
	while (read(to[0], fill, sizeof fill) > 0)
		;
	for (int i = 0; i < 3; i++)
		step();
	cr_expect_eq(pumps[0].total_bytes, 2);
	cr_expect(read(to[0], &byte, 1) == 1 && byte == 'x' && read(to[0], &byte, 1) == 1 && byte == 'y');
	end();
}

Test(launch, a_plan_for_looking_at_is_never_run)
{
	struct aj_process process;
	struct aj_error err = { 0 };
	cr_assert_eq(aj_launch(&(struct aj_built){ .plan = &(struct aj_plan){ .inspect = true } }, &process, &err), -1);
	cr_expect(err.exit_code == AJ_EXIT_SETUP && strstr(err.cause, "for inspection"), "%s", err.cause);
}
