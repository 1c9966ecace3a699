/* The network namespace that is made beside init: whose it is, and what stays as it was in the process that asks for it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/network.h"

static ino_t inode_of(const char *path)
{
	struct stat st = { 0 };
	cr_assert_eq(stat(path, &st), 0);
	return st.st_ino;
}

/* A process in a user namespace of its own, which waits; 0: this host allows none. */
static pid_t make_owner(void)
{
	int ready[2];
	char byte;
	cr_assert_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	bool made = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	if (made)
		return pid;
	waitpid(pid, NULL, 0);
	return 0;
}

static const struct aj_plan planned = { .namespaces = CLONE_NEWUSER | CLONE_NEWNET };

Test(beside, belongs_to_the_jail_and_leaves_the_supervisor_as_it_was)
{
	char path[48];
	struct stat owner, wanted;
	pid_t pid = make_owner();
	if (!pid)
		cr_skip_test("no user namespaces here");
	ino_t net = inode_of("/proc/self/ns/net"), user = inode_of("/proc/self/ns/user");
	int dumpable = prctl(PR_GET_DUMPABLE);
	sigset_t before, after;
	sigprocmask(SIG_SETMASK, NULL, &before);
	snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
	int user_ns = open(path, O_RDONLY | O_CLOEXEC);
	int made = aj_network_make(user_ns);
	cr_assert_geq(made, 0, "errno %d", errno);
	cr_assert_eq(fcntl(made, F_GETFD), FD_CLOEXEC);
	int of = ioctl(made, NS_GET_USERNS);
	cr_assert_geq(of, 0);
	cr_assert_eq(fstat(of, &owner), 0);
	cr_assert_eq(fstat(user_ns, &wanted), 0);
	cr_expect_eq(owner.st_ino, wanted.st_ino);
	cr_expect_eq(inode_of("/proc/self/ns/net"), net);
	cr_expect_eq(inode_of("/proc/self/ns/user"), user);
	cr_expect_eq(prctl(PR_GET_DUMPABLE), dumpable);
	sigprocmask(SIG_SETMASK, NULL, &after);
	cr_expect_eq(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
	cr_expect(aj_network_beside(&planned));
	kill(pid, SIGKILL);
	/* No other child is left, also none that tells nobody of its end. */
	cr_expect_eq(waitpid(-1, NULL, __WALL), pid);
	cr_expect_eq(waitpid(-1, NULL, __WALL | WNOHANG), -1);
}

Test(beside, a_host_that_refuses_is_asked_once)
{
	int wrong = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	cr_assert(aj_network_beside(&planned));
	cr_expect_eq(aj_network_make(wrong), -1);
	cr_expect_eq(errno, EINVAL);
	cr_expect_not(aj_network_beside(&planned));
}

Test(beside, jails_that_are_born_in_theirs)
{
	struct aj_plan plan = planned;
	plan.zygote = true;
	cr_expect_not(aj_network_beside(&plan));
	plan = planned;
	plan.publish.count = 1;
	cr_expect_not(aj_network_beside(&plan));
	plan = planned;
	plan.namespaces = CLONE_NEWUSER;
	cr_expect_not(aj_network_beside(&plan));
}
