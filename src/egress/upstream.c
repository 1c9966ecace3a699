/* The connection to the host: resolves the name, takes the first address that may be used, connects to that very address.
 * No other address is ever connected to, whatever a name server says later. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "egress/connection.h"
#include "inspect/address.h"

enum {
	NEXT_US = 3 * 1000000,  /* for one address of several */
	LAST_US = 60 * 1000000, /* for the last one */
};

static void try_next(struct aj_connection *c);

/* The next address that may be connected to; NULL: none is left. *ret_last: no other one comes after it. */
static const struct aj_resolved *next_address(struct aj_connection *c, bool *ret_last)
{
	const struct aj_relay *relay = c->relay;
	const struct aj_resolved *found = NULL;
	*ret_last = true;
	if (!c->via)
		return c->tried++ ? NULL : &c->target;
	for (unsigned i = c->tried; i < c->via->count; i++) {
		const struct aj_resolved *a = &c->via->addresses[i];
		if (a->refused && !relay->proxy.port && !aj_rules_address(&relay->rules, a->family, a->address, c->port))
			continue;
		if (found) {
			*ret_last = false;
			return found;
		}
		found = a;
		c->tried = i + 1;
	}
	return found;
}

static void give_up(struct aj_connection *c, int error)
{
	char why[200];
	const struct aj_resolved *first = c->via && c->via->count ? c->via->addresses : NULL;
	const char *proxy = c->relay->proxy.port ? "the site's proxy: " : "";
	if (c->via && c->via->failed) {
		snprintf(why, sizeof why, "%s%s", proxy, c->via->failed);
		aj_upstream_failed(c, why);
	} else if (!error && first) {
		aj_sockaddr_text(first->family, first->address, c->address);
		snprintf(why, sizeof why, "resolves to %s: %s, which the policy does not write out", c->address, first->refused);
		aj_connection_end(c, AJ_EGRESS_REFUSED, true, why);
	} else {
		snprintf(why, sizeof why, "%sconnect: %s", proxy, strerrordesc_np(error));
		aj_upstream_failed(c, why);
	}
}

void aj_upstream_made(struct aj_connection *c, int fd)
{
	int on = 1;
	c->upstream = AJ_UPSTREAM_OPEN;
	c->reached = true;
	aj_loop_unset(c->relay->loop, &c->timer);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	c->out.to = c->in.from = fd;
	if (c->in.held) /* from a proxy, with its answer */
		aj_flow_pump(&c->in);
	aj_flow_pump(&c->out);
	aj_connection_settle(c);
}

void aj_upstream_failed(struct aj_connection *c, const char *why)
{
	aj_connection_end(c, AJ_EGRESS_FAILED, true, why);
}

static void connected(struct aj_connection *c, int fd)
{
	if (c->relay->proxy.port)
		aj_proxy_ask(c, fd);
	else
		aj_upstream_made(c, fd);
}

static void drop_attempt(struct aj_connection *c)
{
	int fd = c->outside.fd;
	aj_loop_unwatch(c->relay->loop, &c->outside);
	aj_close(&fd);
}

/* While it connects; afterwards the connection has another callback. */
static void on_connect(struct aj_io *io, uint32_t events)
{
	struct aj_connection *c = io->arg;
	int error = 0;
	socklen_t bytes = sizeof error;
	if ((events & (EPOLLERR | EPOLLHUP)) && getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0)
		error = errno;
	if (!error) {
		connected(c, io->fd);
		return;
	}
	drop_attempt(c);
	c->out.error = error;
	try_next(c);
}

static void on_slow(struct aj_timer *timer)
{
	struct aj_connection *c = timer->arg;
	drop_attempt(c);
	c->out.error = ETIMEDOUT;
	try_next(c);
}

/* 0, EALREADY while it goes on, or why not. A host that is near has answered by the second call, and no turn of the loop is needed. */
static int begin_connect(int fd, const union aj_sockaddr *to, socklen_t bytes)
{
	int r = fd < 0 ? -1 : connect(fd, &to->any, bytes);
	if (r < 0 && fd >= 0 && errno == EINPROGRESS)
		r = connect(fd, &to->any, bytes);
	return r == 0 ? 0 : errno;
}

/* c->out.error: how the last attempt ended; until there is a connection the flow itself has none. */
static void try_next(struct aj_connection *c)
{
	union aj_sockaddr to;
	bool last;
	const struct aj_resolved *a;
	int error = c->out.error;
	uint16_t proxy_port = c->relay->proxy.port;
	c->out.error = 0;
	while ((a = next_address(c, &last))) {
		socklen_t bytes = aj_sockaddr_make(&to, a->family, a->address, proxy_port ? proxy_port : c->port);
		aj_sockaddr_text(a->family, a->address, c->address);
		int fd = socket(a->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		error = begin_connect(fd, &to, bytes);
		if (error == 0) {
			connected(c, fd);
			return;
		}
		if (error == EALREADY) {
			c->upstream = AJ_UPSTREAM_CONNECTING;
			c->outside.fn = on_connect;
			c->timer.fn = on_slow;
			if (aj_loop_watch(c->relay->loop, &c->outside, fd, EPOLLOUT) == 0) {
				aj_loop_set(c->relay->loop, &c->timer, aj_now_us() + (last ? LAST_US : NEXT_US));
				return;
			}
			error = errno;
		}
		aj_close(&fd);
		if (error == EMFILE || error == ENFILE)
			break;
	}
	give_up(c, error);
}

static void on_resolved(struct aj_waiter *waiter)
{
	try_next(waiter->arg);
}

void aj_upstream_start(struct aj_connection *c)
{
	c->upstream = AJ_UPSTREAM_RESOLVING;
	c->waiter = (struct aj_waiter){ .fn = on_resolved, .arg = c };
	c->via = c->relay->proxy.port ? &c->relay->proxy.name : c->name;
	if (!c->via || aj_resolver_ask(c->relay->resolver, c->via, &c->waiter))
		try_next(c);
}
