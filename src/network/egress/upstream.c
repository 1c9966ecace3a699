/* The connection to the host: resolves the name, and tries its permitted addresses one after the other until one answers (RFC
 * 8305). Addresses that a name server sends later are not used. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "network/egress/connection.h"
#include "network/inspect/address.h"
#include "network/resolve/own_address.h"

enum {
	STAGGER_US = 250000,    /* then the next address is tried, beside those that have not answered */
	LAST_US = 60 * 1000000, /* from the last one's begin */
};

/* One address that has not answered. */
struct aj_attempt {
	struct aj_connection *c;
	struct aj_io io; /* fd -1: none */
	char address[46];
};

enum { ATTEMPTS = sizeof((struct aj_name *)0)->addresses / sizeof(struct aj_resolved) };

static void try_next(struct aj_connection *c, int error);

/* The next address that may be connected to, from number `*at` on, which is moved behind it; NULL: none is left. */
static const struct aj_resolved *next_address(const struct aj_connection *c, unsigned *at)
{
	const struct aj_relay *relay = c->relay;
	if (!c->via)
		return (*at)++ ? NULL : &c->target;
	while (*at < c->via->count) {
		const struct aj_resolved *a = &c->via->addresses[(*at)++];
		if (!a->refused || c->by_proxy || aj_rules_address(&relay->rules, a->family, a->address, c->port))
			return a;
	}
	return NULL;
}

/* A routing rule may lead connections to this port alone to the host itself, which the resolver has not seen. *ret_unreachable:
 * do not try it. Without an IPv6 route connect(2) asks again with a source address, and that route may lead to the host. */
static bool is_own(const struct aj_connection *c, const struct aj_resolved *a, bool *ret_unreachable)
{
	*ret_unreachable = false;
	return c->via && !c->by_proxy && !c->to_loopback && !aj_rules_address(&c->relay->rules, a->family, a->address, c->port) &&
	       aj_own_address(a->family, a->address, c->port, ret_unreachable);
}

static bool has_next(const struct aj_connection *c)
{
	unsigned at = c->tried;
	return next_address(c, &at);
}

static void give_up(struct aj_connection *c, int error)
{
	char why[200];
	const struct aj_resolved *first = c->via && c->via->count ? c->via->addresses : NULL;
	const char *proxy = c->by_proxy ? "the site's proxy: " : "";
	if (c->via && c->via->failed) {
		snprintf(why, sizeof why, "%s%s", proxy, c->via->failed);
		aj_upstream_failed(c, why);
	} else if (!error && first) {
		aj_sockaddr_text(first->family, first->address, c->address);
		snprintf(why, sizeof why, "resolves to %s: %s, which the policy does not write out", c->address,
		         first->refused ? first->refused : "the host's own");
		aj_connection_end(c, AJ_EGRESS_REFUSED, true, why);
	} else {
		snprintf(why, sizeof why, "%sconnect: %s", proxy, strerrordesc_np(error));
		aj_upstream_failed(c, why);
	}
}

void aj_upstream_made(struct aj_connection *c, int fd)
{
	c->upstream = AJ_UPSTREAM_OPEN;
	aj_connection_reached(c);
	aj_loop_unset(c->relay->loop, &c->timer);
	c->out.to = c->in.from = fd;
	if (c->in.buffer) /* from a proxy, with its answer */
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
	if (c->by_proxy)
		aj_proxy_ask(c, fd);
	else
		aj_upstream_made(c, fd);
}

static void on_slow(struct aj_timer *timer);

static int drop_attempt(struct aj_attempt *attempt)
{
	int fd = attempt->io.fd;
	aj_loop_unwatch(attempt->c->relay->loop, &attempt->io);
	return fd;
}

void aj_upstream_forget(struct aj_connection *c)
{
	for (int i = 0; c->attempts && i < ATTEMPTS; i++) {
		int fd = drop_attempt(&c->attempts[i]);
		aj_close(&fd);
	}
	free(c->attempts);
	c->attempts = NULL;
}

static bool is_pending(const struct aj_connection *c)
{
	for (int i = 0; c->attempts && i < ATTEMPTS; i++)
		if (c->attempts[i].io.fd >= 0)
			return true;
	return false;
}

/* These come after the host's answer, so there was a connection. */
static bool was_made(const struct aj_connection *c, int error)
{
	return !c->by_proxy && (error == ECONNRESET || error == EPIPE || error == ECONNABORTED);
}

/* The host has ended the connection by a reset before we saw that it stood. Its last bytes are passed on. */
static void made_and_reset(struct aj_connection *c, int fd, int error)
{
	c->upstream = AJ_UPSTREAM_OPEN;
	aj_connection_reached(c);
	c->out.to = c->in.from = fd;
	aj_flow_pump(&c->in);
	c->in.error = error;
	aj_connection_settle(c);
}

/* `fd` has answered: 0, or the error of a connection that was made and has ended. */
static void answered(struct aj_connection *c, int fd, const char *address, int error)
{
	if (address != c->address)
		snprintf(c->address, sizeof c->address, "%s", address);
	aj_upstream_forget(c);
	c->timer.fn = on_slow; /* for the answer of a proxy */
	aj_loop_set(c->relay->loop, &c->timer, aj_now_us() + LAST_US);
	if (error)
		made_and_reset(c, fd, error);
	else
		connected(c, fd);
}

static void on_connect(struct aj_io *io, uint32_t events)
{
	struct aj_attempt *attempt = io->arg;
	struct aj_connection *c = attempt->c;
	char address[46];
	int error = 0, fd = drop_attempt(attempt);
	socklen_t bytes = sizeof error;
	memcpy(address, attempt->address, sizeof address);
	if ((events & (EPOLLERR | EPOLLHUP)) && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0)
		error = errno;
	if (!error || was_made(c, error)) {
		answered(c, fd, address, error);
		return;
	}
	aj_close(&fd);
	try_next(c, error);
}

static void on_slow(struct aj_timer *timer)
{
	struct aj_connection *c = timer->arg;
	if (c->upstream == AJ_UPSTREAM_ASKING) {
		aj_upstream_failed(c, "the site's proxy did not answer in time");
		return;
	}
	if (!has_next(c))
		aj_upstream_forget(c);
	try_next(c, ETIMEDOUT);
}

static int watch_attempt(struct aj_connection *c, int fd, const char *address)
{
	if (!c->attempts) {
		c->attempts = calloc(ATTEMPTS, sizeof *c->attempts);
		for (int i = 0; c->attempts && i < ATTEMPTS; i++) {
			struct aj_attempt *attempt = &c->attempts[i];
			*attempt = (struct aj_attempt){ .c = c, .io = { .fn = on_connect, .arg = attempt, .fd = -1 } };
		}
	}
	for (int i = 0; c->attempts && i < ATTEMPTS; i++) {
		struct aj_attempt *attempt = &c->attempts[i];
		if (attempt->io.fd >= 0)
			continue;
		snprintf(attempt->address, sizeof attempt->address, "%s", address);
		return aj_loop_watch(c->relay->loop, &attempt->io, fd, EPOLLOUT) < 0 ? errno : 0;
	}
	return ENOMEM;
}

/* Returns 0, EALREADY while the connection is in progress, or the error. A near host has answered by the second call, without a
 * turn of the loop. Bytes to send (`speaks`) go with the last packet of the handshake, so that the host wakes up once. */
static int begin_connect(int fd, bool speaks, const union aj_sockaddr *to, socklen_t bytes)
{
	const int off = 0;
	if (fd >= 0 && speaks)
		setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off);
	int r = fd < 0 ? -1 : connect(fd, &to->any, bytes);
	if (r < 0 && fd >= 0 && errno == EINPROGRESS)
		r = connect(fd, &to->any, bytes);
	return r == 0 ? 0 : errno;
}

/* `error`: how the last attempt ended. */
static void try_next(struct aj_connection *c, int error)
{
	union aj_sockaddr to;
	const struct aj_resolved *a;
	bool unreachable;
	uint16_t proxy_port = c->by_proxy ? c->relay->proxy.port : 0;
	while ((a = next_address(c, &c->tried))) {
		socklen_t bytes = aj_sockaddr_make(&to, a->family, a->address, proxy_port ? proxy_port : c->port);
		aj_sockaddr_text(a->family, a->address, c->address);
		if (is_own(c, a, &unreachable))
			continue;
		if (unreachable) {
			error = ENETUNREACH;
			continue;
		}
		int fd = socket(a->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		error = begin_connect(fd, c->out.passed || proxy_port, &to, bytes);
		if (error == 0 || (fd >= 0 && was_made(c, error))) {
			answered(c, fd, c->address, error);
			return;
		}
		if (error == EALREADY && (error = watch_attempt(c, fd, c->address)) == 0) {
			c->upstream = AJ_UPSTREAM_CONNECTING;
			c->timer.fn = on_slow;
			aj_loop_set(c->relay->loop, &c->timer, aj_now_us() + (has_next(c) ? STAGGER_US : LAST_US));
			return;
		}
		aj_close(&fd);
		if (error == EMFILE || error == ENFILE)
			break;
	}
	if (!is_pending(c))
		give_up(c, error);
	else if (!c->timer.place)
		aj_loop_set(c->relay->loop, &c->timer, aj_now_us() + LAST_US);
}

static void on_resolved(struct aj_name_waiter *waiter)
{
	try_next(waiter->arg, 0);
}

void aj_upstream_start(struct aj_connection *c)
{
	c->upstream = AJ_UPSTREAM_RESOLVING;
	aj_loop_unset(c->relay->loop, &c->timer); /* the resolver has a deadline of its own */
	c->waiter = (struct aj_name_waiter){ .fn = on_resolved, .arg = c };
	c->by_proxy = c->relay->proxy.port && !c->to_loopback;
	c->via = c->to_loopback ? &c->relay->loopback : c->by_proxy ? &c->relay->proxy.name : c->name;
	if (!c->via || aj_resolver_ask(c->relay->resolver, c->via, &c->waiter))
		try_next(c, 0);
}
