/* Tests of base/procfs: what /proc says of this process and of its children, and that what it does not say is 0 or refused.
 * The walls of runners are checked in real jails: tests/escape/protocol.sh. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/procfs.h"

static pid_t child;

/* It ignores SIGUSR2 and blocks SIGHUP, and says by stopping that it does. */
static void start_child(void)
{
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGHUP);
	child = fork();
	if (child == 0) {
		signal(SIGUSR2, SIG_IGN);
		sigprocmask(SIG_BLOCK, &blocked, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, NULL, WUNTRACED), child);
}

static void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
TestSuite(procfs, .init = start_child, .fini = end_child);

Test(procfs, a_process)
{
	struct aj_process_info info = aj_procfs_process(child);
	cr_expect(info.process == child && info.parent == getpid() && info.inner == child && info.threads == 1);
	info = aj_procfs_process(0);
	cr_expect(info.process == 0 && info.parent == 0 && info.inner == 0 && info.threads == 0);
}

Test(procfs, numbers)
{
	int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_expect_eq(aj_procfs_number(AT_FDCWD, child, "Threads"), 1);
	cr_expect_eq(aj_procfs_number(proc_fd, child, "PPid"), (unsigned long)getpid());
	cr_expect_gt(aj_procfs_number(proc_fd, child, "VmHWM"), 0);
	cr_expect_eq(aj_procfs_number(proc_fd, child, "Thread"), 0, "the start of a line's name");
	cr_expect_eq(aj_procfs_number(proc_fd, child, "hreads"), 0, "the end of a line's name");
	cr_expect_eq(aj_procfs_number(proc_fd, 0, "Threads"), 0);
	cr_expect_eq(aj_procfs_number(-1, child, "Threads"), 0);
}

Test(procfs, only_signals_that_would_interrupt)
{
	cr_expect_not(aj_procfs_signalled(AT_FDCWD, child));
	kill(child, SIGUSR2);
	kill(child, SIGHUP);
	cr_expect_not(aj_procfs_signalled(AT_FDCWD, child), "ignored and blocked ones");
	kill(child, SIGUSR1);
	cr_expect(aj_procfs_signalled(AT_FDCWD, child));
	cr_expect(aj_procfs_signalled(AT_FDCWD, 0), "unknown is not no");
}

Test(procfs, ends)
{
	siginfo_t end;
	cr_expect_not(aj_procfs_is_ending(child));
	kill(child, SIGKILL);
	cr_assert_eq(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
	cr_expect(aj_procfs_is_ending(child));
}

Test(procfs, children)
{
	struct aj_process_info info;
	int pidfd = aj_procfs_open_child(child, getpid(), &info);
	cr_expect_geq(pidfd, 0);
	cr_expect_eq(info.process, child);
	cr_expect_eq(aj_procfs_open_child(child, getppid(), &info), -1);
	cr_expect_eq(aj_procfs_open_child(getpid(), getpid(), &info), -1);
	cr_expect_eq(aj_procfs_open_child(0, getpid(), &info), -1);
}

Test(procfs, paths_of_mounts)
{
	static const char *const paths[][2] = {
		{ "/a\\040b\\011\\012\\134c", "/a b\t\n\\c" }, { "/plain", "/plain" }, { "/\\04", "/\\04" }, { "", "" }
	};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		char text[40];
		strcpy(text, paths[i][0]);
		aj_procfs_unescape(text);
		cr_expect_str_eq(text, paths[i][1]);
	}
}
