/* The publisher's loop: each client of a published port gets a connection to the server in the jail, and bytes move both ways.
 * It reads the bytes of neither side, and connects to the jail's own loopback alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop/loop.h"
#include "base/sockaddr.h"
#include "network/helper/pace.h"
#include "network/helper/socket_end.h"
#include "network/publish/publish.h"

enum {
	CONNECT_US = 30 * 1000000,        /* for a server whose queue is full */
	HALF_US = 600 * INT64_C(1000000), /* without a byte, once one side has ended */
	FULL_US = 100000,                 /* until descriptors are looked for again */
	PIPES_IDLE_US = 2 * 1000000,      /* after bulk data, until the pipes are closed */
	FDS_ELSEWHERE = 128,
	FDS_EACH = 2,
};

struct port {
	struct aj_publisher *publisher;
	struct aj_io io;
	int fd;
	uint16_t guest_port;
};

/* One client and its server. */
struct connection {
	struct aj_publisher *publisher;
	struct connection *next, **at;
	struct aj_io client, server;
	struct aj_flow in, out; /* to the server, from it */
	struct aj_timer timer;
	uint16_t guest_port;
	int family;                 /* of this attempt: a server may listen on only one of 127.0.0.1 and ::1 */
	struct aj_publish_row *row; /* its report; freed with the connection once sent */
};

struct aj_publisher {
	struct aj_loop *loop;
	struct aj_io supervisor;
	struct aj_unsent unsent;
	struct port ports[AJ_PUBLISHED_MAX];
	size_t port_count;
	struct connection *connections;
	struct connection *first_ended, **last_ended; /* to be reported */
	unsigned count, most;                         /* of both */
	uint64_t moved;                               /* by all connections; not limited */
	struct aj_bulk bulk;
	struct aj_pace pace; /* of its turns */
	struct aj_timer pipes_idle, full;
	bool parked;
};

static void watch_ports(struct aj_publisher *p, bool on)
{
	p->parked = !on;
	for (size_t i = 0; i < p->port_count; i++)
		if (!on)
			aj_loop_unwatch(p->loop, &p->ports[i].io);
		else if (aj_loop_watch(p->loop, &p->ports[i].io, p->ports[i].fd, EPOLLIN) < 0)
			_exit(1);
	aj_loop_unset(p->loop, &p->full);
	if (!on)
		aj_loop_set(p->loop, &p->full, aj_now_us() + FULL_US);
}

static void on_full(struct aj_timer *timer)
{
	struct aj_publisher *p = timer->arg;
	watch_ports(p, p->count < p->most);
}

/* --- reports --- */

/* A report that the supervisor has not read yet waits, and its connection counts as open. */
static void send_reports(struct aj_publisher *p)
{
	struct connection *c;
	while ((c = p->first_ended)) {
		if (send(p->supervisor.fd, &c->row->event, sizeof c->row->event, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			if (errno != EAGAIN && errno != ENOBUFS)
				_exit(1);
			break;
		}
		if (!(p->first_ended = c->next))
			p->last_ended = &p->first_ended;
		p->count--;
		aj_unsent_release(&p->unsent, &c->row->row);
		free(c);
	}
	if (aj_loop_watch(p->loop, &p->supervisor, p->supervisor.fd, EPOLLIN | (p->first_ended ? EPOLLOUT : 0)) < 0)
		_exit(1);
	if (p->parked && p->count < p->most)
		watch_ports(p, true);
}

static void report(struct connection *c)
{
	struct aj_publisher *p = c->publisher;
	struct aj_publish_event *event = &c->row->event;
	int64_t lasted_us = aj_now_us() - event->opened_us;
	event->bytes_in = c->in.moved;
	event->bytes_out = c->out.moved;
	event->lasted_us = lasted_us ? lasted_us : 1; /* 0 means open */
	c->next = NULL;
	*p->last_ended = c;
	p->last_ended = &c->next;
	send_reports(p);
}

/* --- one connection --- */

static void end_connection(struct connection *c, bool abruptly)
{
	struct aj_publisher *p = c->publisher;
	aj_loop_unset(p->loop, &c->timer);
	aj_flow_end(&c->in);
	aj_flow_end(&c->out);
	aj_socket_end_close(p->loop, &c->client, c->in.from, abruptly);
	aj_socket_end_close(p->loop, &c->server, c->out.from, abruptly);
	if ((*c->at = c->next))
		c->next->at = c->at;
	report(c);
}

static void settle_connection(struct connection *c)
{
	if (c->in.error || c->out.error) {
		end_connection(c, true);
		return;
	}
	if (c->in.finished && c->out.finished) {
		end_connection(c, false);
		return;
	}
	if (c->in.ended || c->out.ended)
		aj_loop_set(c->publisher->loop, &c->timer, aj_now_us() + HALF_US);
	if (aj_socket_end_watch(c->publisher->loop, &c->client, &c->in, &c->out) < 0 ||
	    aj_socket_end_watch(c->publisher->loop, &c->server, &c->out, &c->in) < 0)
		end_connection(c, true);
}

static void on_client(struct aj_io *io, uint32_t events)
{
	struct connection *c = io->arg;
	aj_socket_end_pump(events, &c->in, &c->out);
	settle_connection(c);
}

static void on_server(struct aj_io *io, uint32_t events)
{
	struct connection *c = io->arg;
	aj_socket_end_pump(events, &c->out, &c->in);
	settle_connection(c);
}

static void on_turned(struct aj_flow *flow)
{
	settle_connection(flow->arg);
}

static void on_timer(struct aj_timer *timer)
{
	end_connection(timer->arg, true);
}

static void connected(struct connection *c, int fd)
{
	aj_loop_unset(c->publisher->loop, &c->timer);
	c->server.fn = on_server;
	c->in.to = c->out.from = fd;
	aj_flow_pump(&c->in);
	settle_connection(c);
}

static void connect_server(struct connection *c);

static void on_connect(struct aj_io *io, uint32_t events)
{
	struct connection *c = io->arg;
	int error = 0, fd = io->fd;
	socklen_t bytes = sizeof error;
	if ((events & (EPOLLERR | EPOLLHUP)) && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0)
		error = errno;
	if (!error) {
		connected(c, fd);
		return;
	}
	aj_loop_unwatch(c->publisher->loop, &c->server);
	c->out.from = -1;
	close(fd);
	c->family = c->family == AF_INET ? AF_INET6 : AF_UNSPEC;
	connect_server(c);
}

/* No server listens in the jail: the client gets a reset, as a proxy's clients do. */
static void connect_server(struct connection *c)
{
	static const uint8_t loopback[2][16] = { { 127, 0, 0, 1 }, { [15] = 1 } };
	for (; c->family != AF_UNSPEC; c->family = c->family == AF_INET ? AF_INET6 : AF_UNSPEC) {
		union aj_sockaddr to;
		socklen_t bytes = aj_sockaddr_make(&to, c->family, loopback[c->family == AF_INET6], c->guest_port);
		cleanup_fd int fd = socket(c->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		int r = fd < 0 ? -1 : connect(fd, &to.any, bytes);
		if (r < 0 && fd >= 0 && errno == EINPROGRESS)
			r = connect(fd, &to.any, bytes); /* most have answered by now */
		if (r == 0) {
			connected(c, aj_steal(&fd));
			return;
		}
		if (fd < 0 || errno != EALREADY)
			continue;
		c->server.fn = on_connect;
		if (aj_loop_watch(c->publisher->loop, &c->server, fd, EPOLLOUT) < 0)
			break;
		c->out.from = aj_steal(&fd);
		aj_loop_set(c->publisher->loop, &c->timer, aj_now_us() + CONNECT_US);
		return;
	}
	end_connection(c, true);
}

static void begin_connection(struct port *port, int fd, const union aj_sockaddr *client)
{
	struct aj_publisher *p = port->publisher;
	struct connection *c = calloc(1, sizeof *c);
	struct aj_publish_row *row = c ? (struct aj_publish_row *)(void *)aj_unsent_take(&p->unsent) : NULL;
	if (!row) {
		free(c);
		close(fd);
		return;
	}
	*c = (struct connection){ .publisher = p, .guest_port = port->guest_port, .family = AF_INET };
	c->row = row;
	c->at = &p->connections;
	row->event = (struct aj_publish_event){ .number = (uint32_t)(port - p->ports),
		                                .family = client->any.sa_family,
		                                .client_port = aj_sockaddr_port(client),
		                                .opened_us = aj_now_us() };
	memcpy(row->event.client, aj_sockaddr_bytes(client), client->any.sa_family == AF_INET ? 4 : 16);
	c->client = (struct aj_io){ .fn = on_client, .arg = c, .fd = -1 };
	c->server = (struct aj_io){ .fn = on_connect, .arg = c, .fd = -1 };
	c->timer = (struct aj_timer){ .fn = on_timer, .arg = c };
	c->in = (struct aj_flow){ .from = fd, .to = -1, .bulk = &p->bulk, .arg = c, .turned = on_turned, .total = &p->moved };
	c->out = (struct aj_flow){ .from = -1, .to = fd, .bulk = &p->bulk, .arg = c, .turned = on_turned, .total = &p->moved };
	c->in.shown = &row->row.in;
	c->out.shown = &row->row.out;
	c->in.back = &c->out;
	c->out.back = &c->in;
	if ((c->next = p->connections))
		c->next->at = &c->next;
	p->connections = c;
	p->count++;
	connect_server(c);
}

static void on_port(struct aj_io *io, uint32_t events)
{
	struct port *port = io->arg;
	struct aj_publisher *p = port->publisher;
	union aj_sockaddr client = { 0 };
	socklen_t bytes = sizeof client;
	(void)events;
	int fd = p->count < p->most ? accept4(io->fd, &client.any, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC) : -1;
	if (fd >= 0)
		begin_connection(port, fd, &client);
	else if (p->count >= p->most || errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		watch_ports(p, false);
}

/* --- the publisher --- */

/* The supervisor waits for the end of file: slow steps come after it. */
_Noreturn static void stop(struct aj_publisher *p)
{
	aj_unsent_stopped(&p->unsent);
	aj_loop_close(p->loop, &p->supervisor);
	for (const struct connection *c = p->connections; c; c = c->next) {
		aj_socket_end_reset(c->in.from);
		if (c->out.from >= 0)
			aj_socket_end_reset(c->out.from);
	}
	_exit(0);
}

/* The supervisor closes half of its end when the jail is gone; when both are closed, the supervisor is gone, too. */
static void on_supervisor(struct aj_io *io, uint32_t events)
{
	struct aj_publisher *p = io->arg;
	if (events & EPOLLHUP)
		_exit(0);
	if (events & EPOLLIN)
		stop(p);
	send_reports(p);
}

static void on_pipes_idle(struct aj_timer *timer)
{
	aj_bulk_close_pipes(&((struct aj_publisher *)timer->arg)->bulk);
}

struct aj_publisher *aj_publisher_new(struct aj_loop *loop, const struct aj_publisher_of *of, const uint16_t *ports,
                                      int supervisor)
{
	struct aj_publisher *p = calloc(1, sizeof *p);
	struct rlimit fds;
	if (!p || !aj_bulk_begin(&p->bulk))
		return NULL;
	p->loop = loop;
	p->unsent = of->unsent;
	p->most = of->connections;
	p->last_ended = &p->first_ended;
	if (getrlimit(RLIMIT_NOFILE, &fds) == 0 && fds.rlim_cur < FDS_ELSEWHERE + (rlim_t)p->most * FDS_EACH)
		p->most = fds.rlim_cur < FDS_ELSEWHERE + FDS_EACH ? 1 : (unsigned)(fds.rlim_cur - FDS_ELSEWHERE) / FDS_EACH;
	p->pipes_idle = (struct aj_timer){ .fn = on_pipes_idle, .arg = p };
	p->full = (struct aj_timer){ .fn = on_full, .arg = p };
	p->supervisor = (struct aj_io){ .fn = on_supervisor, .arg = p, .fd = -1, .urgent = true };
	for (; p->port_count < of->plan->publish.count; p->port_count++)
		p->ports[p->port_count] = (struct port){ .publisher = p,
			                                 .io = { .fn = on_port, .arg = &p->ports[p->port_count], .fd = -1 },
			                                 .fd = of->listeners[p->port_count],
			                                 .guest_port = ports[p->port_count] };
	if (aj_loop_watch(p->loop, &p->supervisor, supervisor, EPOLLIN) < 0)
		return NULL;
	watch_ports(p, true);
	return p;
}

void aj_publisher_run(struct aj_publisher *p)
{
	while (aj_loop_turn(p->loop, aj_pace_until_us(&p->pace, &p->bulk, INT64_MAX)) == 0) {
		if (aj_unsent_stop_asked(&p->unsent))
			stop(p);
		if (aj_bulk_waits(&p->bulk)) /* the turn may have ended what waited */
			aj_bulk_turn(&p->bulk);
		else if (p->bulk.made && !p->pipes_idle.place)
			aj_loop_set(p->loop, &p->pipes_idle, aj_now_us() + PIPES_IDLE_US);
	}
}
