/* The supervisor's side of the relay: starts the process, reads its reports, ends it.
 * It reads no byte of the jail's or of the network, and never waits for a relay that runs. */
#include "egress/egress.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "egress/process.h"

enum { END_MS = 200 }; /* for the relay to end by itself, before it is killed */

int aj_egress_start(struct aj_egress *e, const struct aj_policy *policy, const struct aj_egress_sockets *sockets, struct aj_error *err)
{
	int ends[2];
	struct aj_error failed = { 0 };
	*e = (struct aj_egress){ .pidfd = -1, .socket = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "relay", errno, "make a socket pair");
	/* The relay keeps all signals blocked: a signal of the terminal is not for it. */
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t us = getpid(), pid = fork(); /* not clone3: libc's fork() resets the locks that other threads hold */
	if (pid == 0)
		aj_relay_process(policy, sockets, ends[1], us);
	int error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	e->socket = ends[0];
	e->pid = pid;
	if (pid > 0 && (e->pidfd = aj_pidfd_open(pid)) < 0) {
		error = errno;
		kill(pid, SIGKILL); /* a child that was not reaped: the pid is its own */
		waitpid(pid, NULL, 0);
	}
	ssize_t n = -1;
	while (e->pidfd >= 0 && (n = recv(e->socket, &failed, sizeof failed, 0)) < 0 && errno == EINTR)
		;
	if (n == (ssize_t)sizeof failed && failed.exit_code == 0)
		return 0;
	aj_egress_kill(e);
	aj_egress_end(e);
	if (n == (ssize_t)sizeof failed) {
		*err = err->exit_code ? *err : failed;
		return -1;
	}
	return aj_fail(err, AJ_EXIT_SETUP, "relay", pid < 0 || n < 0 ? error : 0, "start the process that relays the network");
}

int aj_egress_read(struct aj_egress *e, struct aj_egress_event *ret)
{
	ssize_t n = e->socket < 0 ? 0 : recv(e->socket, ret, sizeof *ret, MSG_DONTWAIT);
	if (n != (ssize_t)sizeof *ret)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : 0;
	/* Its own words, but of a process that foreign bytes came near. */
	ret->name[sizeof ret->name - 1] = ret->address[sizeof ret->address - 1] = ret->why[sizeof ret->why - 1] = '\0';
	return 1;
}

void aj_egress_stop(struct aj_egress *e)
{
	if (e->socket >= 0)
		shutdown(e->socket, SHUT_WR);
}

void aj_egress_kill(struct aj_egress *e)
{
	if (e->pidfd >= 0)
		aj_pidfd_signal(e->pidfd, SIGKILL);
}

void aj_egress_end(struct aj_egress *e)
{
	aj_close(&e->socket);
	aj_pidfd_end(&e->pidfd, END_MS);
}
