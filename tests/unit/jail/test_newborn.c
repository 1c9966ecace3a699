/* Tests of pool/newborn: what a zygote says that it has born is a claim, and whoever it names wrongly is left alone. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/pool/newborn.h"
#include "sandbox/cgroup/create.h"
#include "sandbox/handshake.h"
#include "sandbox/holder.h"

static struct aj_process zygote = AJ_NO_PROCESS, jail = AJ_NO_PROCESS;
static int victim = -1; /* a pidfd */

static pid_t sleeper(void)
{
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	cr_assert_gt(pid, 0);
	return pid;
}

static int pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	cr_assert_geq(fd, 0);
	return fd;
}

/* A holder and a zygote that are two sleeping children, in a namespace that is said to be our own. */
static void start(void)
{
	int ends[2];
	struct stat st;
	struct aj_error err = { 0 };
	pid_t builder = fork();
	if (builder == 0)
		_exit(0);
	victim = pidfd_of(sleeper());
	cr_assert_eq(stat("/proc/self/ns/pid", &st), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	struct aj_msg msg = { .kind = AJ_MSG_PARTED, .holder = sleeper(), .pid = sleeper(), .pid_ns = { st.st_dev, st.st_ino } };
	cr_assert_eq(aj_msg_send(ends[1], &msg), 0);
	zygote.report_fd = ends[0];
	zygote.init_pid = builder;
	zygote.init_pidfd = pidfd_of(builder);
	zygote.holder = aj_holder_take(&zygote, &(struct aj_zygote_cgroups){ 0 }, &err);
	cr_assert(zygote.holder, "%s: %s", err.step, err.cause);
}

static bool runs(int pidfd)
{
	return poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 0) == 0;
}

static void finish(void)
{
	aj_process_kill(&zygote);
	aj_process_end(&zygote, NULL);
	syscall(SYS_pidfd_send_signal, victim, SIGKILL, NULL, 0);
}
TestSuite(newborn, .init = start, .fini = finish);

static enum aj_newborn take(int init, int errnum, struct aj_error *err)
{
	struct aj_birth_answer claim = { .init = init, .errnum = errnum, .report = 0, .control = 0, .out = 0, .err = 0 };
	return aj_newborn_take(&zygote, &claim, &jail, err);
}

/* The sleeping zygote has the descriptors that we had when it was made, so their numbers are its own. */
Test(newborn, names_no_descriptor)
{
	struct aj_error err = { 0 };
	cr_expect_eq(take(777, 0, &err), AJ_NEWBORN_INVALID);
	cr_expect(strstr(err.cause, "no descriptor"), "%s", err.cause);
}

Test(newborn, names_something_that_is_no_process)
{
	struct aj_error err = { 0 };
	cr_expect_eq(take(2, 0, &err), AJ_NEWBORN_INVALID);
	cr_expect(strstr(err.cause, "not a child of the supervisor"), "%s", err.cause);
}

Test(newborn, names_another_child_of_ours)
{
	struct aj_error err = { 0 };
	cr_expect_eq(take(victim, 0, &err), AJ_NEWBORN_INVALID);
	cr_expect(strstr(err.cause, "first of its namespace"), "%s", err.cause);
	cr_expect(runs(victim));
	cr_expect_lt(jail.init_pidfd, 0);
}

/* That is no lie of the zygote's, and no reason to look for a damaged tree. */
Test(newborn, cannot_be_taken_without_a_free_descriptor)
{
	struct rlimit limit;
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	int next = dup(0);
	cr_assert_geq(next, 0);
	close(next);
	/* With one the pidfd is taken, and what /proc says of it is not read. */
	for (int spare = 0; spare <= 1; spare++) {
		struct aj_error err = { 0 };
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ .rlim_cur = (rlim_t)(next + spare), .rlim_max = limit.rlim_max }),
		             0);
		cr_expect_eq(take(victim, 0, &err), AJ_NEWBORN_INVALID);
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		cr_expect_eq(err.errnum, EMFILE);
		cr_expect_null(strstr(err.cause, "not true"), "%s", err.cause);
		cr_expect(runs(victim));
	}
}

/* Also with an error, which has the supervisor end what was born. */
Test(newborn, has_another_ended)
{
	struct aj_error err = { 0 };
	cr_expect_eq(take(victim, 5, &err), AJ_NEWBORN_INVALID);
	cr_expect(runs(victim));
}

Test(newborn, says_that_there_is_none)
{
	struct aj_error err = { 0 };
	cr_expect_eq(take(-1, 12, &err), AJ_NEWBORN_GONE);
	cr_expect_eq(err.errnum, 12);
	cr_expect(runs(victim));
}

/* EAGAIN is the limit of its processes, which an operator can do something about. */
Test(newborn, says_that_there_are_too_many)
{
	struct aj_error err = { 0 };
	cr_expect_eq(take(-1, EAGAIN, &err), AJ_NEWBORN_GONE);
	cr_expect(strstr(err.fix, "limits.pids"), "%s", err.fix);
}

/* Not even that: neither an init nor an error. */
Test(newborn, says_nothing)
{
	struct aj_error err = { 0 };
	cr_expect_eq(take(-1, 0, &err), AJ_NEWBORN_INVALID);
	cr_expect_eq(take(-1, -7, &err), AJ_NEWBORN_INVALID);
}

/* A process of the holder's namespace itself, or of none below it, is never a newborn. */
Test(newborn, admits_only_who_is_directly_below)
{
	cr_expect(aj_holder_admit(zygote.holder, getpid()));
	cr_expect(aj_holder_admit(zygote.holder, zygote.init_pid));
	cr_expect(aj_holder_admit(zygote.holder, 0));
}
