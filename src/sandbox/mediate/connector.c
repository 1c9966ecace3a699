/* The supervisor's side of the connector: starts the process, passes suspended calls to it, takes back calls that must be
 * refused, ends it.
 * It makes no call of the jail's itself and never waits for one. */
#include "sandbox/mediate/connector.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/pidfd.h"
#include "sandbox/cgroup/leaf.h"

enum { END_MS = 200 }; /* for the connector to end its workers, before it is killed */

int aj_connector_start(struct aj_connector *c, const struct aj_plan *plan, const struct aj_caller *jail,
                       const struct aj_notification *first, struct aj_error *err)
{
	int sockets[2];
	char ready;
	*c = (struct aj_connector){ .pidfd = -1, .socket = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "connector", errno, "make a socket pair");
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t us = getpid(), pid = aj_clone3(0, -1, &c->pidfd);
	if (pid == 0)
		aj_connector_run(plan, jail, first, sockets[1], us);
	int error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(sockets[1]);
	c->socket = sockets[0];
	ssize_t n = -1;
	while (pid > 0 && (n = recv(c->socket, &ready, 1, 0)) < 0 && errno == EINTR)
		;
	if (n == 1) {
		/* Charge the connector to the jail's cgroup. Only once it is ready: before, the jail's low limits could slow its
		 * start, for which the supervisor waits. */
		aj_leaf_take(jail->leaf, pid);
		return 0;
	}
	if (pid < 0)
		c->pidfd = -1;
	aj_connector_end(c);
	return aj_fail(err, AJ_EXIT_SETUP, "connector", pid < 0 ? error : 0, "start the process that connects");
}

int aj_connector_give(struct aj_connector *c, const struct aj_notification *call)
{
	return send(c->socket, call, sizeof *call, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *call ? 0 : -1;
}

int aj_connector_back(struct aj_connector *c, struct aj_notification *ret)
{
	ssize_t n = recv(c->socket, ret, sizeof *ret, MSG_DONTWAIT);
	return n == (ssize_t)sizeof *ret ? 1 : n < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : 0;
}

void aj_connector_kill(struct aj_connector *c)
{
	aj_close(&c->socket);
	if (c->pidfd >= 0)
		aj_pidfd_signal(c->pidfd, SIGKILL);
}

void aj_connector_end(struct aj_connector *c)
{
	aj_close(&c->socket);
	aj_pidfd_end(&c->pidfd, END_MS);
}
