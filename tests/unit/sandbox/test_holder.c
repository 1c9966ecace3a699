/* Tests of sandbox/holder: whoever a zygote's builder or a zygote has made is waited for, whenever one of them is killed.
 * All of it runs as a user without privileges, from whom the kernel hides the namespaces of a process that is ending. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/procfs.h"
#include "jail/pool/newborn.h"
#include "sandbox/cgroup/create.h"
#include "sandbox/handshake.h"
#include "sandbox/holder.h"
#include "sandbox/jail_steps.h"

enum { NOBODY = 59990, ID = 1000, HELD_UP_MS = 300 };

static int own_id, told[2] = { -1, -1 };
static int ends[2]; /* the supervisor's, and the other */

static void start(void)
{
	cr_assert(getuid() != 0 || (setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0));
	own_id = (int)getuid();
	cr_assert_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}
TestSuite(holder, .init = start);

static void rest(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static pid_t made(uint64_t flags, int *ret_pidfd)
{
	struct clone_args args = { .flags = flags | (ret_pidfd ? CLONE_PIDFD : 0),
		                   .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		                   .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD };
	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

static void sleep_on(void)
{
	for (;;)
		pause();
}

/* All children, those that have ended too. */
static int count_children(void)
{
	char path[64];
	int count = 0;
	pid_t pid;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	FILE *file = fopen(path, "re");
	cr_assert(file);
	while (fscanf(file, "%d", &pid) == 1)
		count++;
	fclose(file);
	return count;
}

/* One id, as a step takes it. */
static bool map_ids(void)
{
	char map[32];
	snprintf(map, sizeof map, "%d %d 1\n", ID, own_id);
	return aj_write_text(AT_FDCWD, "/proc/self/setgroups", "deny") == 0 &&
	       aj_write_text(AT_FDCWD, "/proc/self/uid_map", map) == 0 && aj_write_text(AT_FDCWD, "/proc/self/gid_map", map) == 0;
}

/* The builder, as in a start, in a user namespace that allows what it does; it cannot send while the socket is full. */
static pid_t builder_of(bool full, void (*zygote)(void))
{
	const struct aj_msg note = { .kind = AJ_MSG_NOTE };
	while (full && send(ends[1], &note, sizeof note, MSG_DONTWAIT) > 0)
		;
	pid_t pid = made(CLONE_NEWUSER, NULL);
	if (pid == 0) {
		static struct aj_plan plan = { .uid = ID, .gid = ID };
		struct aj_steps w = { .plan = &plan, .report = ends[1], .control = told[1], .proc_fd = open("/proc", O_PATH | O_DIRECTORY) };
		struct aj_error err = { 0 };
		close(ends[0]);
		if (map_ids() && aj_holder_part(&w, &err) == 0)
			zygote();
		_exit(9);
	}
	cr_assert_gt(pid, 0);
	close(ends[1]);
	return pid;
}

static void kill_and_await(pid_t pid)
{
	siginfo_t info;
	kill(pid, SIGKILL);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static struct aj_holder *take(pid_t builder, struct aj_process *process, struct aj_error *err)
{
	process->report_fd = ends[0];
	process->init_pid = builder;
	process->init_pidfd = (int)syscall(SYS_pidfd_open, builder, 0);
	cr_assert_geq(process->init_pidfd, 0);
	return aj_holder_take(process, &(struct aj_zygote_cgroups){ 0 }, err);
}

static void await_children(int count)
{
	for (int tries = 0; tries < 5000 && count_children() != count; tries++)
		rest(1);
	cr_assert_eq(count_children(), count);
}

Test(holder, builder_is_killed_when_both_are_there, .timeout = 60)
{
	struct aj_process process = AJ_NO_PROCESS;
	struct aj_error err = { 0 };
	pid_t builder = builder_of(true, sleep_on);
	await_children(3);
	kill_and_await(builder);
	cr_expect_null(take(builder, &process, &err));
	cr_expect_eq(err.exit_code, AJ_EXIT_SETUP);
	cr_expect_eq(process.init_pidfd, -1);
	cr_expect_eq(count_children(), 0, "%d children are left", count_children());
}

/* The holder, too, which stays a zombie as long as the other one was not waited for. */
Test(holder, all_three_are_killed, .timeout = 60)
{
	struct aj_process process = AJ_NO_PROCESS;
	struct aj_error err = { 0 };
	char path[64];
	pid_t pid, builder = builder_of(true, sleep_on);
	await_children(3);
	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	FILE *file = fopen(path, "re");
	while (fscanf(file, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	fclose(file);
	kill_and_await(builder);
	cr_expect_null(take(builder, &process, &err));
	cr_expect_eq(count_children(), 0, "%d children are left", count_children());
}

/* Until then it does nothing, so that it is where the supervisor would look. */
Test(holder, zygote_waits_until_it_is_known, .timeout = 60)
{
	struct aj_process process = AJ_NO_PROCESS;
	struct aj_error err = { 0 };
	struct aj_holder *h = take(builder_of(false, sleep_on), &process, &err);
	cr_assert(h, "%s: %s", err.step, err.cause);
	cr_expect_eq(count_children(), 2);
	cr_expect_not(aj_procfs_is_ending(process.init_pid));
	process.holder = h;
	aj_process_kill(&process);
	aj_holder_zygote_gone(h, process.init_pidfd);
	aj_process_end(&process, NULL);
	cr_expect_eq(count_children(), 0);
}

/* --- a zygote that has borne one jail --- */

/* The newborn has a child of its own, which somebody traces, so that the kernel keeps it, and with it an init that was killed, for a while.
 * The newborn itself cannot be dumped, as nobody can be who shares a zygote's memory. */
static void be_zygote(void)
{
	static int init_fd;
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as an exec does */
	setsid();
	if (made(CLONE_PARENT | CLONE_NEWUSER | CLONE_NEWPID, &init_fd) == 0) {
		if (fork() == 0)
			prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		else
			prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		sleep_on();
	}
	if (write(told[1], &init_fd, sizeof init_fd) == sizeof init_fd)
		sleep_on();
}

/* The youngest; 0: there is none. */
static pid_t child_of(pid_t parent)
{
	char path[64];
	pid_t pid, last = 0;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
	FILE *file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1)
		last = pid;
	if (file)
		fclose(file);
	return last;
}

/* Keeps `pid` for a while after it was killed, as a tracer may. */
static void hold_up(pid_t pid)
{
	int ready[2];
	char byte = 0;
	cr_assert_eq(pipe2(ready, O_CLOEXEC), 0);
	if (fork() == 0) {
		byte = ptrace(PTRACE_SEIZE, pid, 0, 0) == 0;
		(void)!write(ready[1], &byte, 1);
		siginfo_t info;
		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
		rest(HELD_UP_MS);
		_exit(0);
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	cr_assert_eq(byte, 1, "the newborn's child cannot be traced");
}

struct bearing {
	pid_t init;
	int init_fd; /* its pidfd, as the zygote numbers it */
};

/* *jail is the zygote. Its init was killed and cannot be waited for yet. */
static struct bearing bear(struct aj_process *process)
{
	struct bearing b = { 0 };
	struct aj_error err = { 0 };
	pid_t inner = 0;
	cr_assert_eq(pipe(told), 0);
	process->holder = take(builder_of(false, be_zygote), process, &err);
	cr_assert(process->holder, "%s: %s", err.step, err.cause);
	cr_assert_eq(read(told[0], &b.init_fd, sizeof b.init_fd), (ssize_t)sizeof b.init_fd);
	b.init = child_of(getpid());
	while (!inner)
		inner = child_of(b.init);
	hold_up(inner);
	kill(b.init, SIGKILL);
	while (!aj_procfs_is_ending(b.init))
		rest(1);
	/* Its memory is gone soon after that, and what it waits for is its child. */
	rest(HELD_UP_MS / 6);
	return b;
}

static bool is_child(pid_t pid)
{
	return waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

Test(holder, an_init_is_ending_when_its_zygote_ends, .timeout = 60)
{
	struct aj_process zygote = AJ_NO_PROCESS;
	struct bearing b = bear(&zygote);
	cr_expect(is_child(b.init));
	aj_process_kill(&zygote);
	aj_holder_zygote_gone(zygote.holder, zygote.init_pidfd);
	cr_expect_not(is_child(b.init), "it is left");
}

Test(holder, an_init_that_is_ending_is_no_lie, .timeout = 60)
{
	struct aj_process zygote = AJ_NO_PROCESS, jail = AJ_NO_PROCESS;
	struct bearing b = bear(&zygote);
	struct aj_error err = { 0 };
	struct aj_birth_answer claim = { .init = b.init_fd };
	cr_expect_eq(aj_newborn_take(&zygote, &claim, &jail, &err), AJ_NEWBORN_GONE, "%s", err.cause);
	cr_expect_eq(err.errnum, ECHILD);
	cr_expect_not(is_child(b.init), "it is left");
	cr_expect_not(aj_procfs_is_ending(zygote.init_pid));
}

Test(holder, an_init_that_has_ended_is_no_lie, .timeout = 60)
{
	struct aj_process zygote = AJ_NO_PROCESS, jail = AJ_NO_PROCESS;
	struct bearing b = bear(&zygote);
	struct aj_error err = { 0 };
	siginfo_t info;
	struct aj_birth_answer claim = { .init = b.init_fd, .errnum = 5 };
	waitid(P_PID, (id_t)b.init, &info, WEXITED | WNOWAIT | __WALL);
	cr_expect_eq(aj_newborn_take(&zygote, &claim, &jail, &err), AJ_NEWBORN_GONE, "%s", err.cause);
	cr_expect_eq(err.errnum, 5);
	cr_expect_not(is_child(b.init), "it is left");
}

/* Of another session, and as little to be looked at: somebody else's, who is left alone. */
Test(holder, an_ending_child_of_another_is_left_alone, .timeout = 60)
{
	struct aj_process zygote = AJ_NO_PROCESS;
	siginfo_t info;
	bear(&zygote);
	pid_t other = made(CLONE_NEWUSER | CLONE_NEWPID, NULL);
	if (other == 0)
		_exit(0);
	waitid(P_PID, (id_t)other, &info, WEXITED | WNOWAIT);
	int pidfd = (int)syscall(SYS_pidfd_open, other, 0);
	cr_expect_not(aj_holder_bore(zygote.holder, other, pidfd));
	aj_process_kill(&zygote);
	aj_holder_zygote_gone(zygote.holder, zygote.init_pidfd);
	cr_expect(is_child(other));
}
