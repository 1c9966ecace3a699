/* The service from start to stop: policies, sockets, one event loop, and an end that leaves nothing behind.
 * It reads no request and starts no jail. */
#include "serve/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "serve/state.h"
#include "sockets/connection.h"

enum {
	FLUSH_US = 1000000,  /* time for clients to read their last answers */
	DESCRIPTORS = 65536, /* RLIMIT_NOFILE: a jail takes about six */
};

static void notify_manager(const struct aj_server *s, const char *state)
{
	if (aj_sd_notify(s->config->notify, state) < 0)
		aj_server_log(s, "the service manager could not be notified: %s", strerror(errno));
}

/* --- connections --- */

static void on_connection(void *arg, int fd)
{
	aj_client_admit(arg, fd);
}

static void on_failure(void *arg, int errnum)
{
	aj_server_log(arg, "a client could not be accepted: %s", strerror(errnum));
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
	aj_server_log(s, "the grace time is over: snippets that still run are ended");
	stop_clients(s, true);
}

static void on_flush_over(struct aj_timer *timer)
{
	((struct aj_server *)timer->arg)->done = true;
}

static void stop_serving(struct aj_server *s, int signal)
{
	if (s->stopping) {
		s->done = true;
		return;
	}
	s->stopping = true;
	aj_server_log(s, "signal %d: stopping", signal);
	notify_manager(s, "STOPPING=1\nSTATUS=stopping");
	aj_accept_end(&s->accept);
	stop_clients(s, false);
	aj_loop_set(s->loop, &s->grace, aj_in_ms(s->config->grace_ms));
}

/* Has the connection of --connection been closed? Or, after a signal: is no request left, and has every client read its last answer or
 * had FLUSH_US for it? */
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
	struct signalfd_siginfo info;
	(void)events;
	if (read(io->fd, &info, sizeof info) != (ssize_t)sizeof info)
		return;
	if (info.ssi_signo == SIGHUP)
		aj_server_log(s, "SIGHUP has no effect: policies are read again whenever their files change");
	else
		stop_serving(s, (int)info.ssi_signo);
}

/* The process that a private service belongs to has ended; a process that it forked may still hold the connection open. */
static void on_owner_ended(struct aj_io *io, uint32_t events)
{
	struct aj_server *s = io->arg;
	(void)events;
	aj_server_log(s, "the process that made the connection has ended: stopping");
	s->done = true;
}

/* --- metrics --- */

static void print_metrics(void *arg, struct aj_buffer *out)
{
	struct aj_server *s = arg;
	struct aj_manager_counts jails;
	aj_manager_count(s->manager, &jails);
	struct aj_metrics_now now = { .gauges = { [AJ_GAUGE_JAILS] = jails.jails,
		                                  [AJ_GAUGE_PARKED] = jails.parked,
		                                  [AJ_GAUGE_STARTING] = jails.starting,
		                                  [AJ_GAUGE_ZYGOTES] = jails.zygotes,
		                                  [AJ_GAUGE_ZYGOTE_DEATHS] = jails.zygote_deaths,
		                                  [AJ_GAUGE_IN_USE] = s->in_use,
		                                  [AJ_GAUGE_SESSIONS] = s->sessions,
		                                  [AJ_GAUGE_WAITING] = s->waiting,
		                                  [AJ_GAUGE_CLIENTS] = s->client_count } };
	_Static_assert((int)AJ_CODES <= (int)AJ_METRIC_CODES, "each code is counted");
	for (int code = 0; code < AJ_CODES; code++)
		now.codes[code] = aj_fault_name((enum aj_fault_code)code);
	aj_metrics_print(&s->metrics, &now, out);
}

static void on_watchdog(struct aj_timer *timer)
{
	struct aj_server *s = timer->arg;
	char state[160];
	snprintf(state, sizeof state, "WATCHDOG=1\nSTATUS=%lu clients, %lu sessions, %lu jails in use, %lu requests waiting",
	         (unsigned long)s->client_count, (unsigned long)s->sessions, (unsigned long)s->in_use, (unsigned long)s->waiting);
	notify_manager(s, state);
	aj_loop_set(s->loop, timer, aj_now_us() + s->config->watchdog_us);
}

/* --- the start --- */

static int take_inherited(struct aj_server *s, struct aj_listener *metrics, struct aj_error *err)
{
	const struct aj_listen_fds *fds = &s->config->fds;
	for (size_t i = 0; i < fds->count; i++) {
		bool for_metrics = strcmp(fds->items[i].name, "metrics") == 0;
		struct aj_listener *to = for_metrics ? metrics : &s->accept.listener;
		if (to->fd >= 0)
			return aj_fail(err, AJ_EXIT_SETUP, "activation", 0, "two sockets were passed for %s",
			               for_metrics ? "metrics" : "clients");
		if (for_metrics ? s->config->metrics != NULL : s->config->socket_given)
			return aj_fail(err, AJ_EXIT_USAGE, "activation", 0,
			               "a socket was passed by the service manager, and %s names another",
			               for_metrics ? "--metrics" : "--socket");
		if (aj_listen_given(to, fds->items[i].fd, for_metrics, err) < 0)
			return -1;
	}
	return 0;
}

static int take_connection(struct aj_server *s, struct aj_error *err)
{
	int owner;
	if (s->accept.listener.fd >= 0)
		return aj_fail(err, AJ_EXIT_USAGE, "activation", 0,
		               "a socket was passed by the service manager, and --connection gives another");
	if (aj_connection_given(s->config->connection, &owner, err) < 0)
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
	int r = take_inherited(s, &metrics, err);
	if (r == 0 && s->config->connection >= 0)
		r = take_connection(s, err);
	else if (r == 0 && s->accept.listener.fd < 0)
		r = aj_listen_unix(&s->accept.listener, s->config->socket, err);
	if (r == 0 && s->config->metrics)
		r = aj_listen_metrics(&metrics, s->config->metrics, err);
	if (r == 0 && metrics.fd >= 0 && !(s->http = aj_http_new(s->loop, &metrics, print_metrics, s)))
		r = aj_fail(err, AJ_EXIT_SETUP, "metrics", errno, "wait for connections");
	if (r == 0 && s->config->connection < 0 && aj_accept_begin(&s->accept, s->loop) < 0)
		r = aj_fail(err, AJ_EXIT_SETUP, "socket", errno, "wait for connections");
	aj_listen_end(&metrics);
	return r;
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
		                            .log_arg = c->log_arg };
	s->manager = aj_manager_new(s->loop, &config, err);
	for (size_t i = 0; s->manager && i < c->policy_count; i++)
		if (aj_manager_add_policy(s->manager, &c->policies[i], NULL, err) < 0)
			return -1;
	return s->manager ? 0 : -1;
}

static int watch_signals(struct aj_server *s, sigset_t *before, struct aj_error *err)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, before);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || aj_loop_watch(s->loop, &s->signals, fd, EPOLLIN) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "signals", errno, "wait for them");
	return 0;
}

static void raise_descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
		return;
	limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void serve_clients(struct aj_server *s, const char *where)
{
	char state[300];
	snprintf(state, sizeof state, "READY=1\nSTATUS=serving at %s", where);
	aj_server_log(s, "serving at %s", where);
	notify_manager(s, state);
	if (s->config->watchdog_us)
		aj_loop_set(s->loop, &s->watchdog, aj_now_us() + s->config->watchdog_us);
	aj_loop_set(s->loop, &s->warm_up, aj_now_us());
	while (!is_over(s))
		if (aj_loop_turn(s->loop, INT64_MAX) < 0) {
			aj_server_log(s, "the loop failed: %s", strerror(errno));
			break;
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
	*s = (struct aj_server){ .config = config,
		                 .loop = aj_loop_new(),
		                 .accept = { .listener = AJ_NO_LISTENER, .on_connection = on_connection, .on_failure = on_failure, .arg = s },
		                 .signals = { .fn = on_signal, .arg = s, .fd = -1 },
		                 .owner = { .fn = on_owner_ended, .arg = s, .fd = -1 },
		                 .watchdog = { .fn = on_watchdog, .arg = s },
		                 .grace = { .fn = on_grace_over, .arg = s },
		                 .flush = { .fn = on_flush_over, .arg = s },
		                 .warm_up = { .fn = aj_warm_up, .arg = s },
		                 .on_frame = aj_ops_request,
		                 .on_closed = aj_ops_abandon,
		                 .on_slot = &aj_slot_events,
		                 .started_us = aj_now_us() };
	TAILQ_INIT(&s->queue);
	if (!s->loop) {
		free(s);
		return aj_fail(err, AJ_EXIT_SETUP, "loop", errno, "make an event loop");
	}
	raise_descriptors();
	int r = watch_signals(s, &before, err);
	if (r == 0)
		r = open_manager(s, err);
	if (r == 0)
		r = open_sockets(s, err);
	if (r == 0)
		serve_clients(s, config->connection >= 0 ? "the connection that was passed"
		                 : config->fds.count     ? "the socket that the service manager passed"
		                                         : config->socket);
	end_server(s);
	sigprocmask(SIG_SETMASK, &before, NULL);
	free(s);
	return r;
}
