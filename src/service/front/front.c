/* The front of a service in several processes: owns its sockets and signals, starts and stops the shards, and prints their
 * numbers. It reads nothing from clients; a shard that crashes loses its own clients' jails alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/message.h"
#include "policy/host/host.h"
#include "sandbox/cgroup/create.h"
#include "service/front/front_data.h"
#include "service/metrics/board.h"
#include "service/process.h"

enum { KILL_US = 5000000 }; /* from a second order to stop, which waits for no snippet, until shards that do not end are killed */

static void on_signal(struct aj_io *io, uint32_t events)
{
	struct front *f = io->arg;
	(void)events;
	if (!aj_service_stops(f->config, aj_service_signal(io->fd), f->stopping))
		return;
	if (f->stopping && !f->kill.place)
		aj_loop_set(f->loop, &f->kill, aj_now_us() + KILL_US);
	f->stopping = true;
	aj_listen_end(&f->clients);
	for (unsigned i = 0; i < f->count; i++) {
		f->shards[i].stops++;
		aj_front_send_stops(&f->shards[i]);
	}
}

static void on_kill(struct aj_timer *timer)
{
	struct front *f = timer->arg;
	for (unsigned i = 0; i < f->count; i++)
		if (f->shards[i].process.pidfd >= 0) {
			aj_service_log(f->config, "shard %u does not end, and is killed", i);
			aj_helper_kill(&f->shards[i].process);
		}
}

static void on_watchdog(struct aj_timer *timer)
{
	struct front *f = timer->arg;
	uint64_t gauges[AJ_GAUGES] = { 0 };
	aj_board_sum(f->board, -1, NULL, gauges);
	aj_service_alive(f->config, gauges);
	aj_loop_set(f->loop, timer, aj_now_us() + f->config->watchdog_us);
}

static void print_metrics(void *arg, struct aj_buffer *out)
{
	const struct front *f = arg;
	uint64_t gauges[AJ_GAUGES] = { 0 };
	struct aj_metrics metrics = { 0 };
	aj_board_sum(f->board, -1, &metrics, gauges);
	aj_service_print(&metrics, gauges, out);
}

/* A cgroup with processes cannot delegate controllers to its children, so the front moves to a leaf with all shards, which find
 * the cgroup as their nearest ancestor. */
static void leave_cgroup(const struct front *f)
{
	struct aj_arena arena = { 0 };
	struct aj_host host = { 0 };
	struct aj_error err = { 0 };
	char text[1024];
	if (aj_host_gather(&host, &arena, f->config->cgroup, &err) < 0 ||
	    (host.cgroup && aj_cgroup_make_way(host.cgroup, &err) < 0))
		aj_service_log(f->config, "the shards may find no cgroup: %s", aj_error_text(&err, text, sizeof text));
	aj_arena_free(&arena);
}

static bool are_ready(const struct front *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (!f->shards[i].ready)
			return false;
	return true;
}

/* Until they serve, or one of them cannot, or a signal comes. */
static int await_shards(struct front *f, struct aj_error *err)
{
	aj_front_on_check(&f->check);
	while (!are_ready(f) && f->failed.exit_code == 0 && !f->stopping)
		if (aj_loop_turn(f->loop, INT64_MAX) < 0)
			return aj_fail(err, AJ_EXIT_SETUP, "shard", errno, "wait for the shards");
	if (f->failed.exit_code && !f->stopping) {
		*err = f->failed;
		return -1;
	}
	f->serving = !f->stopping;
	return 0;
}

static int open_front(struct front *f, sigset_t *before, struct aj_error *err)
{
	struct aj_listener metrics = AJ_NO_LISTENER;
	int signals = aj_service_signals(before, err);
	int r = signals < 0 ? -1 : aj_service_listen(f->config, &f->clients, &metrics, err);
	if (r == 0 && aj_loop_watch(f->loop, &f->signals, signals, EPOLLIN) < 0)
		r = aj_fail(err, AJ_EXIT_SETUP, "signals", errno, "wait for them");
	if (r == 0)
		leave_cgroup(f);
	for (unsigned i = 0; r == 0 && i < f->count; i++)
		r = aj_front_start(&f->shards[i], err);
	if (r == 0)
		r = await_shards(f, err);
	if (r == 0 && metrics.fd >= 0 && !(f->http = aj_http_new(f->loop, &metrics, print_metrics, f)))
		r = aj_fail(err, AJ_EXIT_SETUP, "metrics", errno, "wait for connections");
	aj_listen_end(&metrics);
	return r;
}

static bool is_over(const struct front *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->shards[i].process.pidfd >= 0)
			return false;
	return f->stopping;
}

static void serve(struct front *f)
{
	if (f->serving) {
		aj_service_log(f->config, "serving at %s with %u shards", aj_service_place(f->config), f->count);
		aj_service_notify(f->config, "READY=1\nSTATUS=serving at %s", aj_service_place(f->config));
	}
	if (f->config->watchdog_us)
		aj_loop_set(f->loop, &f->watchdog, aj_now_us() + f->config->watchdog_us);
	while (!is_over(f))
		if (aj_loop_turn(f->loop, INT64_MAX) < 0) {
			aj_service_log(f->config, "the loop failed: %s", strerror(errno));
			break;
		}
}

int aj_front_run(const struct aj_server_config *config, struct aj_error *err)
{
	sigset_t before;
	struct front *f = calloc(1, sizeof *f);
	if (!f)
		abort();
	*f = (struct front){ .config = config,
		             .loop = aj_loop_new(),
		             .clients = AJ_NO_LISTENER,
		             .signals = { .fn = on_signal, .arg = f, .fd = -1 },
		             .watchdog = { .fn = on_watchdog, .arg = f },
		             .check = { .fn = aj_front_on_check, .arg = f },
		             .kill = { .fn = on_kill, .arg = f },
		             .count = (unsigned)config->shards,
		             .board = aj_board_new((unsigned)config->shards) };
	for (unsigned i = 0; i < f->count; i++)
		f->shards[i] = (struct child){ .front = f,
			                       .index = i,
			                       .process = AJ_NO_HELPER,
			                       .messages.fd = -1,
			                       .end.fd = -1,
			                       .again = { .fn = aj_front_on_again, .arg = &f->shards[i] } };
	sigprocmask(SIG_SETMASK, NULL, &before);
	aj_service_raise_descriptors();
	int r = f->loop && f->board ? open_front(f, &before, err)
	                            : aj_fail(err, AJ_EXIT_SETUP, "front", errno, "make the loop and the shards' board");
	if (r == 0)
		serve(f);
	aj_listen_end(&f->clients);
	aj_http_free(f->http);
	for (unsigned i = 0; i < f->count && f->board; i++)
		aj_front_end(&f->shards[i]);
	int signals = f->signals.fd;
	aj_loop_unwatch(f->loop, &f->signals);
	aj_close(&signals);
	aj_loop_free(f->loop);
	aj_board_free(f->board);
	free(f);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}
