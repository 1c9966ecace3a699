/* The supervisor's side of a jail's network: starts the relay of an allow-list with the sockets that init made, and reads its
 * reports and those of the publisher of ports. The relay checks connections; once it ends every later connection fails. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "base/sockaddr.h"
#include "base/text.h"
#include "jail/jail_inner.h"
#include "policy/plan/egress_addresses.h"
#include "sandbox/handshake.h"

/* Reports in a row before other events get their turn. */
enum { TURN = 64 };
/* For which connections that have ended wait for each other, once some were recorded: each record waits for the disk. */
enum { RECORD_EVERY_US = 1000000 };
/* Time for a helper to stop, which takes one turn of its loop. A late one is killed; its byte counts are in shared memory. */
enum { STOP_MS = 1000, STOP_SHARED_MS = 20 };
/* Time for a service's relay to reset its connections after that. */
enum { RESET_US = 2000000 };

static int start_relay(struct aj_jail *jail, const struct aj_passed *passed, struct aj_error *err)
{
	struct aj_egress_sockets sockets = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int *const kinds[AJ_EGRESS_SOCKETS] = {
		[AJ_EGRESS_DNS_UDP] = sockets.dns_udp,
		[AJ_EGRESS_DNS_TCP] = sockets.dns_tcp,
		[AJ_EGRESS_LISTENER] = sockets.listener,
	};
	bool whole = passed->count == AJ_EGRESS_SOCKETS || passed->count == (size_t)2 * AJ_EGRESS_SOCKETS;
	if (jail->built.plan->network != AJ_NET_ALLOW || jail->network.relay.pidfd >= 0 || !whole)
		return aj_fail(err, AJ_EXIT_SETUP, "egress", 0, "init sent sockets out of order");
	for (size_t i = 0; i < passed->count; i++)
		kinds[i % AJ_EGRESS_SOCKETS][i / AJ_EGRESS_SOCKETS] = passed->fds[i];
	int on = 0;
	socklen_t bytes = sizeof on;
	jail->network.use.transparent = getsockopt(sockets.listener[0], IPPROTO_IP, IP_TRANSPARENT, &on, &bytes) == 0 && on;
	return aj_egress_start(&jail->network.relay, jail->policy, &sockets, err);
}

void aj_jail_on_sockets(struct aj_jail *jail, const struct aj_passed *passed)
{
	static const struct aj_msg taken = { .kind = AJ_MSG_TAKEN };
	struct aj_error err = { 0 };
	int r = start_relay(jail, passed, &err);
	if (r < 0) {
		jail->outcome.result.setup = err;
		aj_process_kill(&jail->process);
		return;
	}
	/* Init waits for this before it gives up its capabilities: no guest starts without the relay. */
	ssize_t sent = send(jail->process.report_fd, &taken, sizeof taken, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0 && errno != EPIPE && errno != ECONNRESET)
		aj_jail_fail(jail, "cannot notify init that the relay has started");
}

/* Names are the jail's: any byte may be in them. */
static struct aj_network_trouble trouble(const struct aj_egress_event *event)
{
	struct aj_network_trouble one = { .port = event->port, .unlisted = event->unlisted };
	one.count = event->count ? event->count : 1;
	aj_ascii(one.host, sizeof one.host, event->name[0] ? event->name : event->address);
	aj_ascii(one.why, sizeof one.why, event->why);
	if (event->kind == AJ_EGRESS_REFUSED)
		aj_egress_advice(event, one.instead, sizeof one.instead);
	return one;
}

/* Of a time by aj_now_us(): since 1970. */
static int64_t date_us(int64_t at_us)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 - (aj_now_us() - at_us);
}

static void add_connection(struct aj_network_use *network, const struct aj_egress_event *event)
{
	struct aj_network_connection one = { .port = event->port,
		                             .bytes_out = event->bytes_out,
		                             .bytes_in = event->bytes_in,
		                             .began_us = date_us(event->opened_us),
		                             .lasted_us = event->lasted_us };
	aj_ascii(one.host, sizeof one.host, event->name[0] ? event->name : event->address);
	aj_ascii(one.address, sizeof one.address, event->address);
	aj_network_add_connection(network, &one);
}

static void add_event(struct aj_network_use *network, const struct aj_egress_event *event)
{
	const struct aj_network_trouble one = trouble(event);
	if (event->kind == AJ_EGRESS_CLOSED)
		add_connection(network, event);
	else if (event->kind == AJ_EGRESS_REFUSED)
		aj_network_add_refused(&network->refused, &one, event->lookups);
	else
		aj_network_add_trouble(&network->failed, &one);
}

static void record(struct aj_jail *jail);

static void on_record_timer(struct aj_timer *timer)
{
	record(timer->arg);
}

/* Record the first connections and each answer at once. Between runs, they are recorded with the id of the run before. */
static void record(struct aj_jail *jail)
{
	if (!jail->network.connections || !aj_network_unrecorded(&jail->network.use) ||
	    (jail->network.record_timer.place && !jail->network.use.answer_count))
		return;
	jail->network.connections(&jail->network.use, jail->network.connections_arg);
	aj_network_forget_recorded(&jail->network.use);
	aj_loop_unset(jail->loop, &jail->network.record_timer);
	jail->network.record_timer = (struct aj_timer){ .fn = on_record_timer, .arg = jail };
	aj_loop_set(jail->loop, &jail->network.record_timer, aj_now_us() + RECORD_EVERY_US);
}

static void on_relay_late(struct aj_timer *timer)
{
	const struct aj_jail *jail = timer->arg;
	aj_helper_kill(&jail->network.relay);
}

/* The relay has stopped, was killed or has exited: read its unsent reports from shared memory. A service does not wait for it. */
static void take_unsent_reports(struct aj_jail *jail, const char *why)
{
	struct aj_egress_event event;
	bool open;
	for (size_t i = 0; aj_egress_next_unsent(&jail->network.relay, false, &i, &event, &open);) {
		if (event.kind == AJ_EGRESS_FAILED)
			snprintf(event.why, sizeof event.why, "%s", why);
		add_event(&jail->network.use, &event);
	}
	record(jail);
	aj_unsent_close(&jail->network.relay.unsent);
	aj_jail_close(jail, AJ_JAIL_RELAY, &jail->network.relay.socket);
	aj_loop_unset(jail->loop, &jail->network.record_timer);
	if (!jail->lasting) {
		aj_helper_end(&jail->network.relay);
		return;
	}
	jail->network.record_timer = (struct aj_timer){ .fn = on_relay_late, .arg = jail };
	aj_loop_set(jail->loop, &jail->network.record_timer, aj_now_us() + RESET_US);
}

static void on_end_of_relay(struct aj_jail *jail)
{
	static const struct aj_network_trouble lost = { .host = "every host",
		                                        .why = "agentjail's relay has ended, so no connection is made any more",
		                                        .instead = "Start a new jail, or work without the network.",
		                                        .count = 1 };
	aj_network_add_trouble(&jail->network.use.refused, &lost);
	take_unsent_reports(jail, "agentjail's relay has ended");
}

static void add_answer(struct aj_network_use *network, const struct aj_ask_answer *answer)
{
	static const char *const verdicts[] = { [AJ_EGRESS_DENY] = "deny", [AJ_EGRESS_ONCE] = "once", [AJ_EGRESS_RUN] = "run" };
	struct aj_network_answer one = { .port = answer->port,
		                         .answer = verdicts[answer->said.verdict],
		                         .by = answer->by,
		                         .answered_us = date_us(aj_now_us()),
		                         .waited_us = answer->waited_us };
	aj_ascii(one.host, sizeof one.host, answer->name);
	aj_ascii(one.why, sizeof one.why, answer->said.why);
	aj_network_add_answer(network, &one);
}

/* It is on record before it has an effect. */
static void on_answer(void *arg, const struct aj_ask_answer *answer)
{
	struct aj_jail *jail = arg;
	struct aj_network_trouble unsaved = { .port = answer->port, .count = 1 };
	if (answer->by) {
		add_answer(&jail->network.use, answer);
		record(jail);
	}
	if (answer->said.verdict != AJ_EGRESS_DENY && answer->said.why[0]) {
		aj_ascii(unsaved.host, sizeof unsaved.host, answer->name);
		aj_ascii(unsaved.why, sizeof unsaved.why, answer->said.why);
		aj_network_add_trouble(&jail->network.use.failed, &unsaved);
	}
	aj_egress_answer(&jail->network.relay, &answer->said);
}

/* False: the relay has ended. */
static bool read_reports(struct aj_jail *jail, int most)
{
	struct aj_egress_event event;
	int r = 1;
	while (most-- && (r = aj_egress_read(&jail->network.relay, &event)) > 0)
		if (event.kind == AJ_EGRESS_ASKED)
			aj_asker_ask(jail->network.asker, event.id, event.name, event.port, on_answer, jail);
		else
			add_event(&jail->network.use, &event);
	return r != 0;
}

unsigned aj_jail_on_relay(struct aj_jail *jail)
{
	if (jail->network.relay.socket < 0) {
		if (jail->network.relay.pidfd < 0 || !aj_pidfd_ended(jail->network.relay.pidfd))
			return 0;
		aj_jail_unwatch(jail, AJ_JAIL_RELAY);
		aj_loop_unset(jail->loop, &jail->network.record_timer);
		aj_helper_end(&jail->network.relay);
		return AJ_JAIL_REAPED;
	}
	bool lives = read_reports(jail, TURN);
	record(jail);
	if (!lives)
		on_end_of_relay(jail);
	return 0;
}

/* --- published ports --- */

static void add_published(struct aj_jail *jail, const struct aj_publish_event *event)
{
	char address[46];
	const struct aj_published *port = &jail->built.plan->publish.items[event->number];
	struct aj_network_published one = { .port = port->rule.port,
		                            .guest_port = port->rule.guest_port,
		                            .bytes_out = event->bytes_out,
		                            .bytes_in = event->bytes_in,
		                            .began_us = date_us(event->opened_us),
		                            .lasted_us = event->lasted_us };
	aj_sockaddr_text(event->family, event->client, address);
	snprintf(one.client, sizeof one.client, event->family == AF_INET6 ? "[%s]:%u" : "%s:%u", address, event->client_port);
	aj_network_add_published(&jail->network.use, &one);
}

/* False: the publisher has ended. */
static bool read_published(struct aj_jail *jail, int most)
{
	struct aj_publish_event event;
	int r = 1;
	while (most-- && (r = aj_publish_read(jail->network.publish, &event)) > 0)
		if (event.number < jail->built.plan->publish.count)
			add_published(jail, &event);
	return r != 0;
}

static void end_publisher(struct aj_jail *jail)
{
	struct aj_publish_event event;
	for (size_t i = 0; aj_publish_next_unsent(jail->network.publish, &i, &event);)
		if (event.number < jail->built.plan->publish.count)
			add_published(jail, &event);
	record(jail);
	aj_jail_unwatch(jail, AJ_JAIL_PUBLISHER);
	aj_helper_end(&jail->network.publish->publisher);
}

void aj_jail_on_publisher(struct aj_jail *jail)
{
	bool lives = read_published(jail, TURN);
	record(jail);
	if (!lives)
		end_publisher(jail);
}

/* --- the end --- */

/* Read the reports of a helper that was asked to stop, until it has. */
static void read_last(struct aj_jail *jail, const struct aj_helper *helper, bool (*read_some)(struct aj_jail *jail, int most))
{
	int64_t until_us = aj_in_ms(jail->lasting ? STOP_SHARED_MS : STOP_MS);
	while (read_some(jail, TURN)) {
		int64_t left_us = until_us - aj_now_us();
		if (left_us <= 0) {
			aj_helper_kill(helper);
			return;
		}
		poll(&(struct pollfd){ .fd = helper->socket, .events = POLLIN }, 1, (int)(left_us / 1000) + 1);
	}
}

/* Saturating: the figures are another process's, and the difference must not wrap around. */
static uint64_t subtract(uint64_t from, uint64_t bytes)
{
	return bytes < from ? from - bytes : 0;
}

/* Add the bytes of open connections since the last result; their ends will subtract these. */
static void count_open(struct aj_jail *jail)
{
	struct aj_network_use *network = &jail->network.use;
	uint64_t bytes_out = 0, bytes_in = 0;
	struct aj_egress_event event;
	bool open;
	for (size_t i = 0; aj_egress_next_unsent(&jail->network.relay, true, &i, &event, &open);)
		if (event.kind == AJ_EGRESS_CLOSED) {
			network->open += open;
			bytes_out += event.bytes_out;
			bytes_in += event.bytes_in;
		}
	network->bytes_out = subtract(network->bytes_out + bytes_out, jail->network.open_before.bytes_out);
	network->bytes_in = subtract(network->bytes_in + bytes_in, jail->network.open_before.bytes_in);
	jail->network.open_before.bytes_out = bytes_out;
	jail->network.open_before.bytes_in = bytes_in;
}

void aj_jail_report_network(struct aj_jail *jail)
{
	count_open(jail);
	aj_network_free(&jail->outcome.result.network);
	jail->outcome.result.network = jail->network.use;
	jail->outcome.result.network.relayed = jail->built.plan->network == AJ_NET_ALLOW;
	jail->outcome.result.network.publishes = jail->built.plan->publish.count;
	jail->network.use = (struct aj_network_use){ 0 };
}

void aj_jail_end_network(struct aj_jail *jail)
{
	if (jail->network.publish && jail->network.publish->publisher.pidfd >= 0) {
		aj_publish_stop(jail->network.publish);
		read_last(jail, &jail->network.publish->publisher, read_published);
		end_publisher(jail);
	}
	if (jail->network.relay.socket >= 0) {
		aj_egress_stop(&jail->network.relay);
		read_last(jail, &jail->network.relay, read_reports);
		take_unsent_reports(jail, "the jail has ended");
	}
	aj_jail_report_network(jail);
	aj_jail_watch(jail);
}
