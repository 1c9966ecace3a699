/* The relay's loop: events first, then one chunk of one bulk transfer, then reports. So no transfer delays a connection by more
 * than its chunk, and bulk transfers share the time that remains. */
#include "network/egress/relay_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "network/egress/connection.h"
#include "network/egress/refused_connection.h"
#include "network/resolve/resolver.h"

enum {
	FDS_ELSEWHERE = 192,         /* that are not for connections: pipes, the resolver, DNS over TCP, refused connections */
	FDS_EACH = 2,                /* of a connection */
	PIPES_IDLE_US = 2 * 1000000, /* after bulk data, until the pipes are closed */
};

/* The supervisor waits for the end of file: slow steps come after it. */
_Noreturn static void stop(struct aj_relay *relay)
{
	aj_reports_send_last(relay);
	aj_unsent_stopped(&relay->unsent);
	aj_loop_close(relay->loop, &relay->supervisor);
	aj_connections_reset(relay);
	_exit(0);
}

/* The supervisor answers questions; by closing its end or half of it, it says: no more. */
static void on_supervisor(struct aj_io *io, uint32_t events)
{
	struct aj_relay *relay = io->arg;
	struct aj_egress_answer answer;
	if (events & EPOLLHUP) /* no one reads the reports any more */
		_exit(0);
	if (!(events & EPOLLIN))
		return;
	ssize_t n = recv(io->fd, &answer, sizeof answer, MSG_DONTWAIT);
	if (n == (ssize_t)sizeof answer) {
		answer.why[sizeof answer.why - 1] = '\0';
		aj_question_answered(relay, &answer);
	}
	if (n == 0)
		stop(relay);
}

static unsigned connections_max(const struct aj_relay *relay)
{
	struct rlimit fds;
	uint64_t most = AJ_EGRESS_CONNECTIONS_MAX;
	if (relay->policy->connections && relay->policy->connections < most)
		most = relay->policy->connections;
	if (getrlimit(RLIMIT_NOFILE, &fds) == 0 && fds.rlim_cur < FDS_ELSEWHERE + most * FDS_EACH)
		most = fds.rlim_cur < FDS_ELSEWHERE + FDS_EACH ? 1 : (fds.rlim_cur - FDS_ELSEWHERE) / FDS_EACH;
	return (unsigned)most;
}

struct aj_relay *aj_relay_new(struct aj_loop *loop, const struct aj_relay_of *of, const struct aj_rules *rules,
                              const struct aj_proxy *proxy, const struct aj_egress_sockets *sockets, int supervisor,
                              struct aj_error *err)
{
	const struct aj_policy *policy = of->policy;
	struct aj_relay *relay = calloc(1, sizeof *relay);
	if (relay) {
		*relay = (struct aj_relay){ .loop = loop, .policy = policy, .rules = *rules, .proxy = *proxy };
		relay->sockets = *sockets;
		relay->unsent = of->unsent;
		relay->supervisor = (struct aj_io){ .fn = on_supervisor, .arg = relay, .fd = -1, .urgent = true };
		relay->last_report = &relay->first_report;
		relay->connections_max = connections_max(relay);
		relay->loopback = (struct aj_name){ .state = AJ_RESOLVED,
			                            .until_us = INT64_MAX,
			                            .count = 2,
			                            .addresses = { { AF_INET, { 127, 0, 0, 1 }, "loopback", false },
			                                           { AF_INET6, { [15] = 1 }, "loopback", false } } };
		relay->names = aj_names_new(AJ_NAMES_FIRST, AJ_NAMES_REFUSED, AJ_NAMES_MAX, AJ_NAMES_KEEP_US);
		relay->refused = aj_names_new(AJ_NAMES_REFUSED, AJ_NAMES_ADDRESSES, AJ_NAMES_REFUSED_MAX, 0);
		relay->refused_connections = aj_refused_connections_new(relay);
		relay->resolver = aj_resolver_new(loop);
		relay->dns = aj_dns_server_new(relay);
	}
	if (!relay || !aj_bulk_begin(&relay->bulk) || !relay->names || !relay->refused || !relay->refused_connections ||
	    !relay->resolver || !relay->dns || aj_loop_watch(loop, &relay->supervisor, supervisor, EPOLLIN) < 0 ||
	    aj_listeners_begin(relay) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "relay", errno, "prepare the relay");
		return NULL;
	}
	return relay;
}

static void on_pipes_idle(struct aj_timer *timer)
{
	struct aj_relay *relay = timer->arg;
	aj_bulk_close_pipes(&relay->bulk);
}

void aj_relay_run(struct aj_relay *relay)
{
	relay->pipes_idle = (struct aj_timer){ .fn = on_pipes_idle, .arg = relay };
	for (;;) {
		if (aj_loop_turn(relay->loop, aj_pace_until_us(&relay->pace, &relay->bulk, aj_reports_due_us(relay))) < 0)
			break;
		if (aj_bulk_waits(&relay->bulk)) /* the turn may have ended what waited */
			aj_bulk_turn(&relay->bulk);
		else if (relay->bulk.made && !relay->pipes_idle.place)
			aj_loop_set(relay->loop, &relay->pipes_idle, aj_now_us() + PIPES_IDLE_US);
		if (aj_unsent_stop_asked(&relay->unsent))
			stop(relay);
		if (aj_reports_send(relay) < 0)
			return;
	}
	struct aj_egress_event event = { .kind = AJ_EGRESS_LOST, .count = 1, .why = "its loop failed" };
	aj_report(relay, &event);
	aj_reports_send(relay);
}
