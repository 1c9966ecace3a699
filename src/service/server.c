/* The service from start to stop: policies, sockets, one event loop, and an end that leaves nothing behind.
 * It reads no request and starts no jail. */
#include "service/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "service/process.h"
#include "service/sockets/inherited_connection.h"
#include "service/state.h"

enum { FLUSH_US = 1000000 }; /* time for clients to read their last answers */

/* --- connections --- */

static void on_connection(void *arg, int fd)
{
	aj_client_admit(arg, fd);
}

static void on_failure(void *arg, int errnum)
{
	const struct aj_server *s = arg;
	aj_service_log(s->config, "a client could not be accepted: %s", strerror(errnum));
}

/* --- the end --- */

static void stop_clients(struct aj_server *s, bool now)
{
	for (struct aj_client *c = LIST_FIRST(&s->clients), *next; c; c = next) {
		next = LIST_NEXT(c, of_server);
		aj_ops_stop(c, now);
	}
}

static void on_grace_over(struct aj_timer *timer)
{
	struct aj_server *s = timer->arg;
	aj_service_log(s->config, "the grace time is over: snippets that still run are ended");
	stop_clients(s, true);
}

static void on_flush_over(struct aj_timer *timer)
{
	((struct aj_server *)timer->arg)->done = true;
}

static void stop_serving(struct aj_server *s)
{
	if (s->stopping) {
		s->done = true;
		return;
	}
	s->stopping = true;
	aj_accept_end(&s->accept);
	stop_clients(s, false);
	aj_loop_set(s->loop, &s->grace, aj_in_ms(s->config->grace_ms));
}

/* Whether the connection of --connection was closed; or, after a signal, no request is left, and every client has read its last
 * answer or had FLUSH_US for it. */
static bool is_over(struct aj_server *s)
{
	if (s->done || (s->config->connection >= 0 && LIST_EMPTY(&s->clients)))
		return true;
	if (!s->stopping || s->requests)
		return false;
	for (struct aj_client *c = LIST_FIRST(&s->clients); c; c = LIST_NEXT(c, of_server))
		if (!c->dropped && aj_buffer_left(&c->out)) {
			if (!s->flush.place)
				aj_loop_set(s->loop, &s->flush, aj_now_us() + FLUSH_US);
			return false;
		}
	return true;
}

static void on_signal(struct aj_io *io, uint32_t events)
{
	struct aj_server *s = io->arg;
	(void)events;
	int signal = aj_service_signal(io->fd);
	if (aj_service_stops(s->config, signal, s->stopping))
		stop_serving(s);
}

/* The process that a private service belongs to has ended; a process that it forked may still hold the connection open. */
static void on_owner_ended(struct aj_io *io, uint32_t events)
{
	struct aj_server *s = io->arg;
	(void)events;
	aj_service_log(s->config, "the process that made the connection has ended: stopping");
	s->done = true;
}

/* --- numbers --- */

static void print_metrics(void *arg, struct aj_buffer *out)
{
	const struct aj_server *s = arg;
	uint64_t gauges[AJ_GAUGES];
	aj_server_gauges(s, gauges);
	aj_service_print(&s->metrics, gauges, out);
}

static void on_watchdog(struct aj_timer *timer)
{
	struct aj_server *s = timer->arg;
	uint64_t gauges[AJ_GAUGES];
	aj_server_gauges(s, gauges);
	if (s->config->shard)
		aj_shard_beat(s);
	else
		aj_service_alive(s->config, gauges);
	aj_loop_set(s->loop, timer, aj_now_us() + s->config->watchdog_us);
}

/* --- the start --- */

static int take_connection(struct aj_server *s, struct aj_error *err)
{
	int owner;
	if (s->accept.listener.fd >= 0)
		return aj_fail(err, AJ_EXIT_USAGE, "activation", 0,
		               "a socket was passed by the service manager, and --connection gives another");
	if (aj_connection_inherited(s->config->connection, &owner, err) < 0)
		return -1;
	if (owner >= 0 && aj_loop_watch(s->loop, &s->owner, owner, EPOLLIN) < 0) {
		aj_close(&owner);
		return aj_fail(err, AJ_EXIT_SETUP, "connection", errno, "wait for the end of the process that made it");
	}
	aj_client_admit(s, s->config->connection);
	return 0;
}

static int open_sockets(struct aj_server *s, struct aj_error *err)
{
	struct aj_listener metrics = AJ_NO_LISTENER;
	bool listens = s->config->connection < 0;
	int r = listens ? aj_service_listen(s->config, &s->accept.listener, &metrics, err)
	                : aj_service_inherit(s->config, &s->accept.listener, &metrics, err);
	if (r == 0 && !listens)
		r = take_connection(s, err);
	if (r == 0 && metrics.fd >= 0 && !(s->http = aj_http_new(s->loop, &metrics, print_metrics, s)))
		r = aj_fail(err, AJ_EXIT_SETUP, "metrics", errno, "wait for connections");
	if (r == 0 && listens && aj_accept_begin(&s->accept, s->loop) < 0)
		r = aj_fail(err, AJ_EXIT_SETUP, "socket", errno, "wait for connections");
	aj_listen_end(&metrics);
	return r;
}

static int watch_signals(struct aj_server *s, sigset_t *before, struct aj_error *err)
{
	int fd = aj_service_signals(before, err);
	if (fd >= 0 && aj_loop_watch(s->loop, &s->signals, fd, EPOLLIN) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "signals", errno, "wait for them");
	return fd < 0 ? -1 : 0;
}

static void on_unenforced(void *arg, const char *policy, const char *line)
{
	const struct aj_server *s = arg;
	aj_service_log(s->config, "%s: %s", policy, line);
}

static int open_manager(struct aj_server *s, struct aj_error *err)
{
	const struct aj_server_config *c = s->config;
	struct aj_manager_config config = { .site = c->site,
		                            .rootfs = c->rootfs,
		                            .cgroup = c->cgroup,
		                            .parked = (unsigned)c->parked,
		                            .jails_max = (unsigned)(c->jails_max + c->parked),
		                            .pools_max = (unsigned)c->pools_max,
		                            .idle_ms = c->idle_ms,
		                            .lifetime_ms = c->lifetime_ms,
		                            .log = c->log,
		                            .log_arg = c->log_arg,
		                            .unenforced = on_unenforced,
		                            .unenforced_arg = s };
	s->manager = aj_manager_new(s->loop, &config, err);
	for (size_t i = 0; s->manager && i < c->policy_count; i++)
		if (aj_manager_add_policy(s->manager, &c->policies[i], NULL, err) < 0)
			return -1;
	return s->manager ? 0 : -1;
}

static void serve_clients(struct aj_server *s)
{
	const struct aj_shard *shard = s->config->shard;
	if (shard) {
		shard->on_ready(shard);
	} else {
		aj_service_log(s->config, "serving at %s", aj_service_place(s->config));
		aj_service_notify(s->config, "READY=1\nSTATUS=serving at %s", aj_service_place(s->config));
	}
	if (s->config->watchdog_us)
		aj_loop_set(s->loop, &s->watchdog, aj_now_us() + s->config->watchdog_us);
	aj_loop_set(s->loop, &s->warm_up, aj_now_us());
	while (!is_over(s)) {
		if (aj_loop_turn(s->loop, INT64_MAX) < 0) {
			aj_service_log(s->config, "the loop failed: %s", strerror(errno));
			break;
		}
		aj_shard_publish_soon(s);
	}
}

static void end_server(struct aj_server *s)
{
	aj_accept_end(&s->accept);
	aj_http_free(s->http);
	s->stopping = true;
	while (!LIST_EMPTY(&s->clients))
		aj_client_free(LIST_FIRST(&s->clients));
	aj_warm_up_end(s);
	if (s->manager)
		aj_manager_free(s->manager);
	aj_loop_unwatch(s->loop, &s->front); /* the descriptor is the caller's, who may have an error to report on it */
	struct aj_io *watched[] = { &s->signals, &s->owner };
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
		int fd = watched[i]->fd;
		aj_loop_unwatch(s->loop, watched[i]);
		aj_close(&fd);
	}
	aj_loop_free(s->loop);
}

int aj_server_run(const struct aj_server_config *config, struct aj_error *err)
{
	sigset_t before;
	struct aj_server *s = calloc(1, sizeof *s);
	if (!s)
		abort();
	*s = (struct aj_server){
		.config = config,
		.loop = aj_loop_new(),
		.accept = { .listener = AJ_NO_LISTENER, .on_connection = on_connection, .on_failure = on_failure, .arg = s },
		.signals = { .fn = on_signal, .arg = s, .fd = -1 },
		.front.fd = -1,
		.owner = { .fn = on_owner_ended, .arg = s, .fd = -1 },
		.watchdog = { .fn = on_watchdog, .arg = s },
		.grace = { .fn = on_grace_over, .arg = s },
		.flush = { .fn = on_flush_over, .arg = s },
		.warm_up = { .fn = aj_warm_up, .arg = s },
		.on_frame = aj_ops_request,
		.on_closed = aj_ops_abandon,
		.on_stop = stop_serving,
		.on_slot = &aj_slot_events,
		.started_us = aj_now_us()
	};
	TAILQ_INIT(&s->queue);
	if (!s->loop) {
		free(s);
		return aj_fail(err, AJ_EXIT_SETUP, "loop", errno, "make an event loop");
	}
	aj_service_raise_descriptors();
	aj_service_check_descriptors(config);
	sigprocmask(SIG_SETMASK, NULL, &before);
	int r = config->shard ? aj_shard_begin(s, err) : watch_signals(s, &before, err);
	if (r == 0)
		r = open_manager(s, err);
	if (r == 0)
		r = open_sockets(s, err);
	if (r == 0)
		serve_clients(s);
	end_server(s);
	sigprocmask(SIG_SETMASK, &before, NULL);
	free(s);
	return r;
}
