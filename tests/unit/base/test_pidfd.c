/* Tests of base/pidfd: a child lives, ends, and is reaped; another process's child is none of ours.
 * It starts one child at a time and leaves none behind. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pidfd.h"

static pid_t start_child(void)
{
	pid_t child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	cr_assert_gt(child, 0);
	return child;
}

Test(pidfd, lives_ends_and_is_reaped)
{
	struct rusage usage = { .ru_maxrss = -1 };
	pid_t child = start_child();
	int pidfd = aj_pidfd_open(child);
	cr_assert_geq(pidfd, 0);
	cr_expect(!aj_pidfd_ended(pidfd) && aj_pidfd_is_child(pidfd));
	aj_pidfd_signal(pidfd, SIGKILL);
	aj_pidfd_wait(pidfd, WNOWAIT, NULL);
	cr_expect(aj_pidfd_ended(pidfd) && aj_pidfd_is_child(pidfd), "not reaped yet");
	aj_pidfd_wait(pidfd, 0, &usage);
	cr_expect(aj_pidfd_ended(pidfd) && !aj_pidfd_is_child(pidfd));
	cr_expect_geq(usage.ru_maxrss, 0);
	cr_expect_eq(waitpid(child, NULL, 0), -1);
	aj_pidfd_signal(pidfd, SIGKILL); /* of nobody */
	close(pidfd);
}

Test(pidfd, of_no_child)
{
	int parent = aj_pidfd_open(getppid());
	cr_assert_geq(parent, 0);
	cr_expect(!aj_pidfd_is_child(parent) && !aj_pidfd_ended(parent));
	aj_pidfd_wait(parent, 0, NULL); /* returns at once */
	close(parent);
	cr_expect_eq(aj_pidfd_open(0), -1);
	cr_expect_eq(aj_pidfd_open(-1), -1);
	cr_expect_eq(errno, EINVAL);
	cr_expect_not(aj_pidfd_is_child(-1));
}

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

/* Each question may meet a signal that has just become pending; some of so many do. */
Test(pidfd, a_signal_of_the_caller_says_nothing_of_the_process)
{
	enum { TICKS = 3000 };
	const struct itimerval often = { { 0, 20 }, { 0, 20 } }, never = { 0 };
	pid_t child = start_child();
	int pidfd = aj_pidfd_open(child);
	bool ended = false;
	cr_assert_geq(pidfd, 0);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_tick }, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (ticks < TICKS && !ended)
		ended = aj_pidfd_ended(pidfd);
	setitimer(ITIMER_REAL, &never, NULL);
	cr_expect(!ended, "after %d signals", (int)ticks);
	aj_pidfd_signal(pidfd, SIGKILL);
	aj_pidfd_wait(pidfd, 0, NULL);
	close(pidfd);
}
