/* The shards of a service in several processes: each is started, awaited, monitored, and restarted after its end. One that hangs,
 * at its start or later, is killed, while the others continue to serve. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/message.h"
#include "service/front/front_data.h"
#include "service/metrics/board.h"
#include "service/process.h"

enum {
	AGAIN_US = 1000000,    /* between two starts of one shard */
	STOP_AGAIN_US = 10000, /* until an order is sent again that found the way to a shard full */
	CHECK_US = 10000000,   /* between two checks, where no service manager has an interval of its own */
	HUNG_CHECKS = 2,       /* at a shard that serves, and whose loop has not turned since */
	START_CHECKS = 6,      /* at a shard that is not ready yet */
};

static const char step[] = "shard", what[] = "start a process that serves clients";

/* --- a shard's process --- */

/* A shard's loop turns at least twice between two checks, even if its timer is late: checks are made by the front, which is
 * delayed as well on a machine that is busy or suspended. */
static int64_t check_us(const struct front *f)
{
	return f->config->watchdog_us ? f->config->watchdog_us : CHECK_US;
}

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
	struct aj_shard shard = { .index = child->index, .count = f->count, .front = socket, .board = f->board };
	shard.on_ready = on_ready;
	struct aj_server_config config = *f->config;
	config.shard = &shard;
	config.fds = (struct aj_listen_fds){ .count = 1, .items = { { .fd = listener } } };
	config.socket_given = false;
	config.metrics = config.notify = NULL;
	config.watchdog_us = check_us(f) / 2;
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

int aj_front_start(struct child *child, struct aj_error *err)
{
	struct front *f = child->front;
	child->started_us = aj_now_us();
	child->ready = false;
	child->checks = 0;
	if (aj_helper_begin(&child->process, be_shard, child, step, what, err) < 0)
		return -1;
	child->messages = (struct aj_io){ .fn = on_message, .arg = child, .fd = -1 };
	child->end = (struct aj_io){ .fn = on_end, .arg = child, .fd = -1 };
	if (fcntl(child->process.socket, F_SETFL, O_NONBLOCK) < 0 ||
	    aj_loop_watch(f->loop, &child->messages, child->process.socket, EPOLLIN) < 0 ||
	    aj_loop_watch(f->loop, &child->end, child->process.pidfd, EPOLLIN) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, step, errno, "wait for a shard's messages");
	return 0;
}

void aj_front_end(struct child *child)
{
	aj_loop_unwatch(child->front->loop, &child->messages);
	aj_loop_unwatch(child->front->loop, &child->end);
	aj_loop_unset(child->front->loop, &child->again);
	aj_helper_end(&child->process);
	aj_board_retire(child->front->board, child->index);
}

/* Before the service is ready that is the end of the front too, which has the error. */
static void not_started(struct child *child, const struct aj_error *err)
{
	struct front *f = child->front;
	char text[1024];
	aj_helper_kill(&child->process);
	aj_front_end(child);
	if (f->stopping)
		return;
	if (!f->serving && f->failed.exit_code == 0)
		f->failed = *err;
	if (!f->serving)
		return;
	aj_service_log(f->config, "shard %u could not be started: %s", child->index, aj_error_text(err, text, sizeof text));
	aj_loop_set(f->loop, &child->again, aj_now_us() + AGAIN_US);
}

/* Has the child not failed to start? Its answer is the first message that it sends. */
static bool is_started(struct child *child)
{
	struct aj_error err = { 0 };
	int r = child->ready ? 0 : aj_helper_answer(&child->process, step, what, &err);
	if (r < 0)
		not_started(child, &err);
	if (r == 0 && !child->ready) {
		child->ready = true;
		child->checks = 0;
	}
	return r >= 0;
}

static void on_end(struct aj_io *io, uint32_t events)
{
	struct child *child = io->arg;
	struct front *f = child->front;
	(void)events;
	if (!is_started(child))
		return;
	aj_front_end(child);
	if (f->stopping)
		return;
	aj_service_log(f->config, "shard %u has ended, and its clients' jails with it: it is started again", child->index);
	aj_loop_set(f->loop, &child->again, child->started_us + AGAIN_US);
}

void aj_front_send_stops(struct child *child)
{
	const struct aj_shard_message message = { .order = AJ_SHARD_STOP };
	for (; child->stops && child->process.socket >= 0; child->stops--)
		if (aj_message_send(child->process.socket, &message, sizeof message, -1) < 0) {
			if (errno == EAGAIN)
				aj_loop_set(child->front->loop, &child->again, aj_now_us() + STOP_AGAIN_US);
			return;
		}
}

void aj_front_on_again(struct aj_timer *timer)
{
	struct child *child = timer->arg;
	struct aj_error err = { 0 };
	if (child->front->stopping)
		aj_front_send_stops(child);
	else if (aj_front_start(child, &err) < 0)
		not_started(child, &err);
}

/* --- is it alive? --- */

/* The end of a killed shard is handled like any other. Nothing is checked while the service stops: a shard that removes its jails
 * turns no loop, and the second signal's time limit ends one that hangs. */
static void check_shard(struct child *child)
{
	struct front *f = child->front;
	uint32_t beats = aj_board_beats(f->board, child->index);
	if (child->process.pidfd < 0)
		return;
	child->checks = child->ready && beats != child->beats ? 0 : child->checks + 1;
	child->beats = beats;
	if (child->checks < (child->ready ? HUNG_CHECKS : START_CHECKS))
		return;
	aj_service_log(f->config, "shard %u %s, and is killed", child->index, child->ready ? "hangs" : "hangs at its start");
	aj_helper_kill(&child->process);
}

void aj_front_on_check(struct aj_timer *timer)
{
	struct front *f = timer->arg;
	if (f->stopping)
		return;
	for (unsigned i = 0; i < f->count; i++)
		check_shard(&f->shards[i]);
	aj_loop_set(f->loop, timer, aj_now_us() + check_us(f));
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
	if (!from->ready) {
		is_started(from);
		return;
	}
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
