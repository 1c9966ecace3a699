/* The supervisor's side of published ports: opens them on the host before the jail is made, starts the publisher, ends both.
 * It accepts no connection and reads no byte of one. */
#include "network/publish/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sockaddr.h"

enum { BACKLOG = 128 };

static int refuse(const struct aj_published *port, int error, struct aj_error *err)
{
	aj_fail(err, AJ_EXIT_SETUP, "publish", error, "open %s on this host for port %u of the jail", port->place,
	        port->rule.guest_port);
	if (error == EADDRINUSE)
		aj_advise(err, "another program has this port: name a free one, as in --publish %u:%u",
		          port->rule.port < 55536 ? port->rule.port + 10000 : 8080, port->rule.guest_port);
	else if (error == EACCES)
		aj_advise(err, "ports below 1024 are root's: name a higher one, as in --publish 8080:%u", port->rule.guest_port);
	else if (error == EADDRNOTAVAIL)
		aj_advise(err, "HOST must be an address of this host; 0.0.0.0 is all of them");
	return -1;
}

static int open_port(const struct aj_published *port, struct aj_error *err)
{
	const struct aj_publish_rule *rule = &port->rule;
	const int on = 1;
	union aj_sockaddr at;
	socklen_t bytes = aj_sockaddr_make(&at, rule->family, rule->address, rule->port);
	cleanup_fd int fd = socket(rule->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* SO_REUSEADDR: connections of an earlier run that have ended leave the port free; one that listens does not. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
	    (rule->family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
	    bind(fd, &at.any, bytes) < 0 || listen(fd, BACKLOG) < 0 || aj_fd_move_high(&fd) < 0)
		return refuse(port, errno, err);
	return aj_steal(&fd);
}

int aj_publish_open(struct aj_publish *publish, const struct aj_plan *plan, struct aj_error *err)
{
	*publish = AJ_NO_PUBLISH;
	for (size_t i = 0; i < plan->publish.count; i++) {
		int fd = open_port(&plan->publish.items[i], err);
		if (fd < 0) {
			aj_publish_end(publish);
			return -1;
		}
		publish->listeners[publish->count++] = fd;
	}
	return 0;
}

int aj_publish_start(struct aj_publish *publish, const struct aj_plan *plan, int user_ns, int net_ns, unsigned connections,
                     struct aj_error *err)
{
	struct aj_publisher_of of = {
		.plan = plan, .listeners = publish->listeners, .user_ns = user_ns, .net_ns = net_ns, .connections = connections
	};
	const char *what = "start the process that serves published ports";
	if (aj_helper_start_mover(&publish->publisher, aj_publisher_process, &of, &of.unsent, connections,
	                          sizeof(struct aj_publish_row), "publish", what, err) < 0)
		return -1;
	/* Its copies alone stay open: when it ends, the ports are closed. */
	while (publish->count)
		aj_close(&publish->listeners[--publish->count]);
	return 0;
}

int aj_publish_read(struct aj_publish *publish, struct aj_publish_event *ret)
{
	ssize_t n = publish->publisher.socket < 0 ? 0 : recv(publish->publisher.socket, ret, sizeof *ret, MSG_DONTWAIT);
	if (n == (ssize_t)sizeof *ret)
		return 1;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : 0;
}

void aj_publish_stop(const struct aj_publish *publish)
{
	aj_helper_stop(&publish->publisher);
}

bool aj_publish_next_unsent(const struct aj_publish *publish, size_t *at, struct aj_publish_event *ret)
{
	const struct aj_unsent *unsent = &publish->publisher.unsent;
	struct aj_publish_row found;
	if (!aj_unsent_next(unsent, !aj_unsent_has_stopped(unsent), at, &found))
		return false;
	*ret = found.event;
	ret->bytes_out = found.row.out.written;
	ret->bytes_in = found.row.in.written;
	if (ret->lasted_us == 0)
		ret->lasted_us = aj_now_us() - ret->opened_us;
	return true;
}

void aj_publish_end(struct aj_publish *publish)
{
	while (publish->count)
		aj_close(&publish->listeners[--publish->count]);
	aj_helper_kill(&publish->publisher);
	aj_helper_end(&publish->publisher);
}
