/* The life of one connection: checks its first bytes, connects to the host, forwards bytes both ways with half-closes and resets,
 * and reports the end. The listener finds the name, network/egress/upstream.c the address. */
#include "network/egress/connection.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "network/egress/refused_connection.h"

enum {
	FIRST_US = 30 * 1000000,          /* for the first bytes, where they are awaited */
	HALF_US = 600 * INT64_C(1000000), /* without a byte, once one side has ended */
	KEPT_US = 60 * 1000000,           /* a connection of this age is kept alive by probes: a host that is gone is noticed */
	KEEPALIVE_S = 60,
	KEEPALIVE_EVERY_S = 20,
	KEEPALIVE_TIMES = 6,
};

static void on_outside(struct aj_io *io, uint32_t events);

/* Into a zeroed field. */
static void copy_text(char *to, size_t room, const char *from)
{
	memcpy(to, from, strnlen(from, room - 1));
}

static struct aj_egress_event begin_event(const struct aj_connection *c, enum aj_egress_kind kind)
{
	struct aj_egress_event event = { .kind = kind, .count = 1, .port = c->port, .opened_us = c->opened_us };
	if (c->name)
		copy_text(event.name, sizeof event.name, c->name->text);
	copy_text(event.address, sizeof event.address, c->address);
	return event;
}

static struct aj_egress_event end_event(const struct aj_connection *c, enum aj_egress_kind kind, const char *why)
{
	struct aj_egress_event event = begin_event(c, kind);
	int64_t lasted_us = aj_now_us() - c->opened_us;
	event.bytes_out = c->out.moved;
	event.bytes_in = c->in.moved;
	event.lasted_us = lasted_us ? lasted_us : 1; /* 0 means open */
	copy_text(event.why, sizeof event.why, why);
	return event;
}

void aj_connection_end(struct aj_connection *c, enum aj_egress_kind kind, bool abruptly, const char *why)
{
	struct aj_relay *relay = c->relay;
	struct aj_egress_event event = end_event(c, kind, why ? why : "");
	struct aj_egress_event *refusal = kind == AJ_EGRESS_REFUSED ? &event : c->refusal;
	if (why && kind != AJ_EGRESS_CLOSED)
		aj_report(relay, &event);
	aj_loop_unset(relay->loop, &c->timer);
	aj_resolver_forget(&c->waiter);
	aj_upstream_forget(c);
	int inside = c->out.from, outside = c->outside.fd >= 0 ? c->outside.fd : c->in.from;
	/* No byte was exchanged with a host, so an answer of ours is not mistaken for the host's. */
	bool answers_refusal = refusal && !c->out.moved && !c->in.moved;
	if (answers_refusal) {
		aj_loop_unwatch(relay->loop, &c->inside);
		aj_refuse_connection(relay->refused_connections, inside, refusal,
		                     c->out.buffer ? c->out.buffer + c->out.buffer_at : NULL, c->out.buffer_bytes);
	}
	aj_flow_end(&c->out);
	aj_flow_end(&c->in);
	c->row->event = event;
	if (why && kind == AJ_EGRESS_CLOSED)
		aj_report_closed(relay, c->row);
	else
		aj_unsent_release(&relay->unsent, &c->row->row);
	aj_socket_end_close(relay->loop, &c->inside, answers_refusal ? -1 : inside, abruptly);
	aj_socket_end_close(relay->loop, &c->outside, outside, abruptly);
	if (c->name)
		c->name->connections--;
	if ((*c->at = c->next))
		c->next->at = c->at;
	relay->connection_count--;
	free(c->http);
	free(c->refusal);
	free(c->answer);
	free(c);
	if (relay->parked)
		aj_listeners_watch(relay);
}

void aj_connections_reset(struct aj_relay *relay)
{
	for (const struct aj_connection *c = relay->connections; c; c = c->next) {
		aj_socket_end_reset(c->out.from);
		if (c->in.from >= 0)
			aj_socket_end_reset(c->in.from);
	}
}

void aj_connection_reached(struct aj_connection *c)
{
	c->reached = true;
	c->row->event = begin_event(c, AJ_EGRESS_CLOSED);
}

static enum aj_egress_kind kind_of(const struct aj_connection *c)
{
	return c->reached ? AJ_EGRESS_CLOSED : AJ_EGRESS_FAILED;
}

void aj_connections_end(struct aj_relay *relay, const char *why)
{
	for (struct aj_connection *c = relay->connections, *next; c; c = next) {
		next = c->next;
		aj_connection_end(c, kind_of(c), true, why);
	}
}

static int watch(struct aj_connection *c)
{
	struct aj_loop *loop = c->relay->loop;
	if (aj_socket_end_watch(loop, &c->inside, &c->out, &c->in) < 0)
		return -1;
	return c->upstream == AJ_UPSTREAM_OPEN ? aj_socket_end_watch(loop, &c->outside, &c->in, &c->out) : 0;
}

static void set_option(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof value);
}

static void keep_alive(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_TIMES);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

static void on_idle(struct aj_timer *timer)
{
	struct aj_connection *c = timer->arg;
	if (c->upstream == AJ_UPSTREAM_OPEN && !c->out.ended && !c->in.ended)
		keep_alive(c->in.from);
	else if (c->upstream == AJ_UPSTREAM_OPEN)
		aj_connection_end(c, AJ_EGRESS_CLOSED, true, "one side had ended, and no byte came from the other");
	else
		aj_connection_end(c, AJ_EGRESS_FAILED, true, "the program sent nothing that says for whom it is");
}

static bool over_cap(const struct aj_relay *relay, const char **ret_why)
{
	const struct aj_policy *caps = relay->policy;
	*ret_why = caps->bytes_out && relay->bytes_out > caps->bytes_out
	             ? "the jail has sent all the bytes that its policy allows"
	         : caps->bytes_in && relay->bytes_in > caps->bytes_in
	             ? "the jail has received all the bytes that its policy allows"
	             : NULL;
	return *ret_why;
}

void aj_connection_settle(struct aj_connection *c)
{
	struct aj_relay *relay = c->relay;
	const char *why;
	if (over_cap(relay, &why)) {
		struct aj_egress_event event = aj_refusal(c->name ? c->name->text : "", c->address, c->port, "%s", why);
		aj_report(relay, &event);
		aj_connections_end(relay, why);
		return;
	}
	if (c->out.refused) {
		/* The gate has reported why. */
		aj_connection_end(c, AJ_EGRESS_CLOSED, true, c->reached ? "refused" : NULL);
		return;
	}
	int error = c->out.error ? c->out.error : c->in.error;
	if (error && !c->reached) {
		/* There is no other side yet: the program itself reset it, which is no failure of the host's. */
		aj_connection_end(c, AJ_EGRESS_FAILED, true, NULL);
		return;
	}
	if (error) {
		char text[120];
		snprintf(text, sizeof text, "%s", strerrordesc_np(error));
		aj_connection_end(c, kind_of(c), true, text);
		return;
	}
	if (c->out.finished && c->in.finished) {
		aj_connection_end(c, AJ_EGRESS_CLOSED, false, "");
		return;
	}
	if (c->out.ended && c->out.gate && c->out.buffer_bytes > c->out.passed && aj_name_check_ended(c)) {
		c->out.gate = NULL;
		c->out.passed = c->out.buffer_bytes;
		aj_flow_pump(&c->out);
		aj_connection_settle(c);
		return;
	}
	if (c->out.ended && c->out.gate && c->out.buffer_bytes > c->out.passed) {
		aj_connection_end(c, kind_of(c), true, "the program ended in the middle of a message that says for whom it is");
		return;
	}
	if (c->out.ended && c->upstream == AJ_UPSTREAM_NONE && !c->out.passed) {
		aj_connection_end(c, AJ_EGRESS_FAILED, true, NULL); /* nor is this: a program that probes a port */
		return;
	}
	if (c->upstream == AJ_UPSTREAM_OPEN) {
		if (c->outside.fn != on_outside) {
			c->outside.fn = on_outside;
			c->timer.fn = on_idle;
			aj_loop_set(relay->loop, &c->timer, aj_now_us() + KEPT_US);
		}
		if (c->out.ended || c->in.ended)
			aj_loop_set(relay->loop, &c->timer, aj_now_us() + HALF_US);
	}
	if (watch(c) < 0)
		aj_connection_end(c, kind_of(c), true, "the relay has no memory left");
	else if (c->upstream == AJ_UPSTREAM_NONE && c->out.passed)
		aj_upstream_start(c); /* settles again, unless the connection is gone */
}

static void on_inside(struct aj_io *io, uint32_t events)
{
	struct aj_connection *c = io->arg;
	aj_socket_end_pump(events, &c->out, &c->in);
	aj_connection_settle(c);
}

static void on_outside(struct aj_io *io, uint32_t events)
{
	struct aj_connection *c = io->arg;
	aj_socket_end_pump(events, &c->in, &c->out);
	aj_connection_settle(c);
}

static void on_turned(struct aj_flow *flow)
{
	aj_connection_settle(flow->arg);
}

void aj_connection_begin(struct aj_relay *relay, int fd, struct aj_name *name, const struct aj_resolved *target, uint16_t port)
{
	struct aj_connection *c = calloc(1, sizeof *c);
	struct aj_egress_row *row = c ? (struct aj_egress_row *)(void *)aj_unsent_take(&relay->unsent) : NULL;
	if (!row) {
		free(c);
		aj_socket_end_reset(fd);
		return;
	}
	*c = (struct aj_connection){
		.relay = relay, .name = name, .port = port, .row = row, .opened_us = aj_now_us(), .at = &relay->connections
	};
	if (target) {
		c->target = *target;
		aj_sockaddr_text(target->family, target->address, c->address);
	}
	c->inside = (struct aj_io){ .fn = on_inside, .arg = c, .fd = -1 };
	c->outside = (struct aj_io){ .arg = c, .fd = -1 }; /* its callback: on_answer of a proxy, then on_outside */
	c->timer = (struct aj_timer){ .fn = on_idle, .arg = c };
	c->out = (struct aj_flow){ .from = fd, .to = -1, .total = &relay->bytes_out };
	c->in = (struct aj_flow){ .from = -1, .to = fd, .total = &relay->bytes_in };
	c->out.bulk = c->in.bulk = &relay->bulk;
	c->out.arg = c->in.arg = c;
	c->out.turned = c->in.turned = on_turned;
	row->event = begin_event(c, AJ_EGRESS_FAILED);
	c->out.shown = &row->row.out;
	c->in.shown = &row->row.in;
	c->out.most = relay->policy->bytes_out;
	c->in.most = relay->policy->bytes_in;
	c->in.undelayed = true; /* the listener has it */
	c->out.back = &c->in;
	c->in.back = &c->out;
	c->to_loopback = name && aj_host_is_loopback_name(name->text);
	/* A loopback item names address and port, as an address item does, so the first bytes are not checked for a name. */
	const bool judged = name && !c->to_loopback;
	c->out.gate = judged ? aj_name_check : NULL;
	if ((c->next = relay->connections))
		c->next->at = &c->next;
	relay->connections = c;
	relay->connection_count++;
	if (name)
		name->connections++;
	const bool awaited = judged && aj_first_bytes_awaited(port);
	if (awaited)
		aj_loop_set(relay->loop, &c->timer, c->opened_us + FIRST_US);
	aj_flow_pump(&c->out); /* the first bytes are often there already */
	if (awaited || c->out.refused || c->out.error)
		aj_connection_settle(c);
	else
		aj_upstream_start(c);
}
