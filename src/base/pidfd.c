/* Signals, waits for and reaps processes by pidfd, and copies their descriptors. */
#include "base/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

int aj_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

int aj_pidfd_open_thread(pid_t tid)
{
	return (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
}

int aj_pidfd_copy_fd(int pidfd, int number)
{
	return (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
}

void aj_pidfd_signal(int pidfd, int signal)
{
	syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

bool aj_pidfd_ended(int pidfd)
{
	int r;
	do /* EINTR comes also without waiting, when a signal is pending */
		r = poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 0);
	while (r < 0 && errno == EINTR);
	return r != 0;
}

bool aj_pidfd_is_child(int pidfd)
{
	return syscall(SYS_waitid, P_PIDFD, pidfd, NULL, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL) == 0;
}

void aj_pidfd_end(int *pidfd, int timeout_ms)
{
	if (*pidfd < 0)
		return;
	if (poll(&(struct pollfd){ .fd = *pidfd, .events = POLLIN }, 1, timeout_ms) <= 0)
		aj_pidfd_signal(*pidfd, SIGKILL);
	aj_pidfd_wait(*pidfd, 0, NULL);
	aj_close(pidfd);
}

void aj_pidfd_wait(int pidfd, int flags, struct rusage *ret_usage)
{
	/* libc's waitid() omits the kernel's last argument. */
	while (syscall(SYS_waitid, P_PIDFD, pidfd, NULL, WEXITED | flags, ret_usage) < 0 && errno == EINTR)
		;
}
