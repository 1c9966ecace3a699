/* The front of a service in several processes: starts the shards, starts those again that end, passes connections from one to another,
 * stops them all, and prints their numbers.
 * It reads nothing that a client sends and knows no jail: a shard that falls takes its own clients' jails with it and no others. */
#include "front/front.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/message.h"
#include "cgroup/create.h"
#include "helper/helper.h"
#include "host/host.h"
#include "loop/loop.h"
#include "metrics/board.h"
#include "metrics/http.h"
#include "serve/process.h"

enum {
	AGAIN_US = 1000000, /* between two starts of one shard */
	KILL_US = 5000000,  /* from a second order to stop, which waits for no snippet, until shards that do not end are killed */
	STOP_AGAIN_US = 10000, /* until an order is sent again that found the way to a shard full */
};

struct child {
	struct front *front;
	unsigned index;
	struct aj_helper process;
	struct aj_io messages, end;
	struct aj_timer again; /* it is to be started, or an order waits */
	int64_t started_us;
	unsigned stops; /* orders to stop that were not sent yet */
};

struct front {
	const struct aj_server_config *config;
	struct aj_loop *loop;
	struct aj_listener clients;
	struct aj_http *http;
	struct aj_io signals;
	struct aj_timer watchdog, kill;
	struct aj_board *board;
	unsigned count;
	bool stopping;
	struct child shards[AJ_SHARDS_MAX];
};

/* --- a shard's process --- */

static void on_ready(const struct aj_shard *shard)
{
	aj_helper_ready(shard->front, &(struct aj_error){ 0 });
}

static uint64_t share(uint64_t most, unsigned count)
{
	return (most + count - 1) / count;
}

static void be_shard(void *arg, int socket, pid_t parent)
{
	const struct child *child = arg;
	const struct front *f = child->front;
	int listener = f->clients.fd;
	const int keep[] = { socket, listener };
	struct aj_error err = { 0 };
	struct aj_shard shard = { .index = child->index, .count = f->count, .front = socket, .on_ready = on_ready, .board = f->board };
	struct aj_server_config config = *f->config;
	config.shard = &shard;
	config.fds = (struct aj_listen_fds){ .count = 1, .items = { { .fd = listener } } };
	config.socket_given = false;
	config.metrics = config.notify = NULL;
	config.watchdog_us = 0;
	uint64_t *const parts[] = { &config.jails_max, &config.sessions_max, &config.queue_max, &config.pools_max };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		*parts[i] = share(*parts[i], f->count);
	/* The front's end closes the socket too, but a shard that is stopped or hangs would not see that. */
	bool tied = aj_helper_end_with(parent, &err) == 0;
	if (tied && aj_fd_close_others(3, keep, 2) < 0)
		aj_fail(&err, AJ_EXIT_SETUP, "shard", errno, "close the front's descriptors");
	else if (tied && aj_server_run(&config, &err) == 0)
		_exit(0);
	aj_helper_ready(socket, &err);
}

/* --- start and end of one --- */

static void on_message(struct aj_io *io, uint32_t events);
static void on_end(struct aj_io *io, uint32_t events);

static int start_shard(struct child *child, struct aj_error *err)
{
	struct front *f = child->front;
	child->started_us = aj_now_us();
	if (aj_helper_start(&child->process, be_shard, child, "shard", "start a process that serves clients", err) < 0)
		return -1;
	child->messages = (struct aj_io){ .fn = on_message, .arg = child, .fd = -1 };
	child->end = (struct aj_io){ .fn = on_end, .arg = child, .fd = -1 };
	if (fcntl(child->process.socket, F_SETFL, O_NONBLOCK) < 0 ||
	    aj_loop_watch(f->loop, &child->messages, child->process.socket, EPOLLIN) < 0 ||
	    aj_loop_watch(f->loop, &child->end, child->process.pidfd, EPOLLIN) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "shard", errno, "wait for a shard's messages");
	return 0;
}

static void end_shard(struct child *child)
{
	aj_loop_unwatch(child->front->loop, &child->messages);
	aj_loop_unwatch(child->front->loop, &child->end);
	aj_loop_unset(child->front->loop, &child->again);
	aj_helper_end(&child->process);
	aj_board_retire(child->front->board, child->index);
}

static void on_end(struct aj_io *io, uint32_t events)
{
	struct child *child = io->arg;
	struct front *f = child->front;
	(void)events;
	end_shard(child);
	if (f->stopping)
		return;
	aj_service_log(f->config, "shard %u has ended, and its clients' jails with it: it is started again", child->index);
	aj_loop_set(f->loop, &child->again, child->started_us + AGAIN_US);
}

static void send_stops(struct child *child)
{
	const struct aj_shard_message message = { .order = AJ_SHARD_STOP };
	for (; child->stops && child->process.socket >= 0; child->stops--)
		if (aj_message_send(child->process.socket, &message, sizeof message, -1) < 0) {
			if (errno == EAGAIN)
				aj_loop_set(child->front->loop, &child->again, aj_now_us() + STOP_AGAIN_US);
			return;
		}
}

static void on_again(struct aj_timer *timer)
{
	struct child *child = timer->arg;
	struct front *f = child->front;
	struct aj_error err = { 0 };
	char text[1024];
	if (f->stopping) {
		send_stops(child);
	} else if (start_shard(child, &err) < 0) {
		aj_service_log(f->config, "shard %u could not be started: %s", child->index, aj_error_text(&err, text, sizeof text));
		end_shard(child);
		aj_loop_set(f->loop, &child->again, aj_now_us() + AGAIN_US);
	}
}

/* --- between the shards --- */

/* A connection for another shard; where that one cannot take it now the sender has it back, and serves it. */
static void on_message(struct aj_io *io, uint32_t events)
{
	struct child *from = io->arg;
	struct front *f = from->front;
	struct aj_shard_message message;
	struct aj_passed passed;
	(void)events;
	int received = aj_shard_receive(io->fd, &message, &passed);
	if (received < 0)
		aj_loop_unwatch(f->loop, io); /* on_end() follows */
	if (received <= 0)
		return;
	bool good = message.order == AJ_SHARD_CONNECTION && message.to < f->count && passed.count == 2;
	const struct child *const ways[] = { good ? &f->shards[message.to] : from, from };
	int sent = -1;
	for (size_t i = 0; good && sent < 0 && i < 2; i++)
		if (ways[i]->process.socket >= 0)
			sent = aj_message_send_all(ways[i]->process.socket, &message, sizeof message, passed.fds, passed.count);
	if (sent < 0)
		aj_service_log(f->config, "a connection that shard %u gave away was dropped", from->index);
	for (size_t i = 0; i < passed.count; i++)
		aj_close(&passed.fds[i]);
}

/* --- the service --- */

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
		send_stops(&f->shards[i]);
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

/* A cgroup with processes can have no controllers for its children, so the front leaves it for a leaf, with all shards, which find the
 * cgroup as their nearest ancestor. */
static void leave_cgroup(const struct front *f)
{
	struct aj_arena arena = { 0 };
	struct aj_host host = { 0 };
	struct aj_error err = { 0 };
	char text[1024];
	if (aj_host_gather(&host, &arena, f->config->cgroup, &err) < 0 || (host.cgroup && aj_cgroup_make_way(host.cgroup, &err) < 0))
		aj_service_log(f->config, "the shards may find no cgroup: %s", aj_error_text(&err, text, sizeof text));
	aj_arena_free(&arena);
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
		r = start_shard(&f->shards[i], err);
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
	aj_service_log(f->config, "serving at %s with %u shards", aj_service_place(f->config), f->count);
	aj_service_notify(f->config, "READY=1\nSTATUS=serving at %s", aj_service_place(f->config));
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
		             .kill = { .fn = on_kill, .arg = f },
		             .count = (unsigned)config->shards,
		             .board = aj_board_new((unsigned)config->shards) };
	for (unsigned i = 0; i < f->count; i++)
		f->shards[i] = (struct child){ .front = f,
			                       .index = i,
			                       .process = AJ_NO_HELPER,
			                       .messages.fd = -1,
			                       .end.fd = -1,
			                       .again = { .fn = on_again, .arg = &f->shards[i] } };
	sigprocmask(SIG_SETMASK, NULL, &before);
	aj_service_raise_descriptors();
	int r = f->loop && f->board ? open_front(f, &before, err)
	                            : aj_fail(err, AJ_EXIT_SETUP, "front", errno, "make the loop and the shards' board");
	if (r == 0)
		serve(f);
	aj_listen_end(&f->clients);
	aj_http_free(f->http);
	for (unsigned i = 0; i < f->count && f->board; i++)
		end_shard(&f->shards[i]);
	int signals = f->signals.fd;
	aj_loop_unwatch(f->loop, &f->signals);
	aj_close(&signals);
	aj_loop_free(f->loop);
	aj_board_free(f->board);
	free(f);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}
