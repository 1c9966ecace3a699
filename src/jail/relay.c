/* The supervisor's side of a network by allow-list: starts the relay with the sockets that init made, and reads the relay's reports.
 * It judges no connection, and opens none: the relay does, and where that ends every later connection fails. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/fd.h"
#include "base/text.h"
#include "jail/inner.h"
#include "plan/egress.h"
#include "sandbox/handshake.h"

/* Reports in a row before other events get their turn. */
enum { TURN = 64 };
/* For which connections that have ended wait for each other, once some were recorded: each record waits for the disk. */
enum { RECORD_EVERY_US = 1000000 };
/* Time for the relay's last reports, once the jail is gone; a service has other jails. */
enum { LAST_MS = 200, LAST_SHARED_MS = 20 };

static int start_relay(struct aj_run *run, const struct aj_passed *passed, struct aj_error *err)
{
	struct aj_egress_sockets sockets = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int *const kinds[AJ_EGRESS_SOCKETS] = {
		[AJ_EGRESS_DNS_UDP] = sockets.dns_udp, [AJ_EGRESS_DNS_TCP] = sockets.dns_tcp, [AJ_EGRESS_LISTENER] = sockets.listener
	};
	bool whole = passed->count == AJ_EGRESS_SOCKETS || passed->count == (size_t)2 * AJ_EGRESS_SOCKETS;
	if (run->plan->network != AJ_NET_ALLOW || run->relay.pidfd >= 0 || !whole)
		return aj_fail(err, AJ_EXIT_SETUP, "egress", 0, "init sent sockets out of order");
	for (size_t i = 0; i < passed->count; i++)
		kinds[i % AJ_EGRESS_SOCKETS][i / AJ_EGRESS_SOCKETS] = passed->fds[i];
	return aj_egress_start(&run->relay, run->policy, &sockets, err);
}

void aj_run_on_sockets(struct aj_run *run, const struct aj_passed *passed)
{
	static const struct aj_msg taken = { .kind = AJ_MSG_TAKEN };
	struct aj_error err = { 0 };
	int r = start_relay(run, passed, &err);
	if (r < 0) {
		run->result.setup = err;
		aj_jail_kill(&run->jail);
		return;
	}
	/* Init waits for this before it gives up its capabilities: no guest starts without the relay. */
	if (send(run->jail.report_fd, &taken, sizeof taken, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EPIPE && errno != ECONNRESET)
		aj_run_fail(run, "init cannot be told that the relay has started");
}

/* Names are the jail's: any byte may be in them. */
static struct aj_network_trouble trouble(const struct aj_egress_event *event)
{
	struct aj_network_trouble one = { .port = event->port, .unlisted = event->unlisted, .count = event->count ? event->count : 1 };
	aj_ascii(one.host, sizeof one.host, event->name[0] ? event->name : event->address);
	aj_ascii(one.why, sizeof one.why, event->why);
	if (event->kind == AJ_EGRESS_REFUSED)
		aj_egress_advice(event, one.instead, sizeof one.instead);
	return one;
}

static void add_connection(struct aj_network_use *network, const struct aj_egress_event *event)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t ago_us = aj_now_us() - event->opened_us;
	struct aj_network_connection one = { .port = event->port,
		                             .bytes_out = event->bytes_out,
		                             .bytes_in = event->bytes_in,
		                             .began_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 - ago_us,
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

static void record_connections(struct aj_run *run);

static void on_record_timer(struct aj_timer *timer)
{
	record_connections(timer->arg);
}

/* The first ones at once. Those of a time without a run wait for the next one, as its result has them, too. */
static void record_connections(struct aj_run *run)
{
	if (!run->connections || !run->running || !run->network.listed || run->record_timer.place)
		return;
	run->connections(&run->network, run->connections_arg);
	aj_network_forget_connections(&run->network);
	run->record_timer = (struct aj_timer){ .fn = on_record_timer, .arg = run };
	aj_loop_set(run->loop, &run->record_timer, aj_now_us() + RECORD_EVERY_US);
}

static void on_end(struct aj_run *run)
{
	static const struct aj_network_trouble lost = { .host = "every host",
		                                        .why = "agentjail's relay has ended, so no connection is made any more",
		                                        .instead = "Start a new jail, or work without the network.",
		                                        .count = 1 };
	if (!run->exited)
		aj_network_add_trouble(&run->network.refused, &lost);
	aj_run_unwatch(run, AJ_RUN_RELAY);
	aj_loop_unset(run->loop, &run->record_timer);
	aj_helper_end(&run->relay);
}

static void on_answer(void *arg, const char *name, uint16_t port, const struct aj_egress_answer *answer)
{
	struct aj_run *run = arg;
	struct aj_network_trouble unsaved = { .port = port, .count = 1 };
	if (answer->verdict != AJ_EGRESS_DENY && answer->why[0]) {
		aj_ascii(unsaved.host, sizeof unsaved.host, name);
		aj_ascii(unsaved.why, sizeof unsaved.why, answer->why);
		aj_network_add_trouble(&run->network.failed, &unsaved);
	}
	aj_egress_answer(&run->relay, answer);
}

/* False: the relay has ended. */
static bool read_reports(struct aj_run *run, int most)
{
	struct aj_egress_event event;
	int r = 1;
	while (most-- && (r = aj_egress_read(&run->relay, &event)) > 0)
		if (event.kind == AJ_EGRESS_ASKED)
			aj_asker_ask(run->asker, event.id, event.name, event.port, on_answer, run);
		else
			add_event(&run->network, &event);
	return r != 0;
}

void aj_run_on_relay(struct aj_run *run)
{
	if (run->relay.pidfd < 0)
		return;
	bool lives = read_reports(run, TURN);
	record_connections(run);
	if (!lives)
		on_end(run);
}

void aj_run_end_relay(struct aj_run *run)
{
	int64_t until_us = aj_in_ms(run->lasting ? LAST_SHARED_MS : LAST_MS);
	if (run->relay.pidfd < 0)
		return;
	aj_egress_stop(&run->relay);
	while (read_reports(run, TURN) && aj_now_us() < until_us) {
		int64_t left_ms = (until_us - aj_now_us()) / 1000;
		poll(&(struct pollfd){ .fd = run->relay.socket, .events = POLLIN }, 1, left_ms > 0 ? (int)left_ms : 0);
	}
	on_end(run);
}

void aj_run_report_network(struct aj_run *run)
{
	aj_network_free(&run->result.network);
	run->result.network = run->network;
	run->result.network.relayed = run->plan->network == AJ_NET_ALLOW;
	run->network = (struct aj_network_use){ 0 };
}
