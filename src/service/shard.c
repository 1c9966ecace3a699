/* The duties of a shard beside its clients: it obeys the front, passes a connection to its tenant's shard, takes those that
 * others pass, and publishes its numbers. It passes no connection that has a jail or a request, and serves one itself if the
 * socket to the front is full. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/message.h"
#include "service/metrics/board.h"
#include "service/process.h"
#include "service/state.h"

enum { PUBLISH_US = 100000 }; /* from a change to its publication */

/* FNV-1a. A tenant's pools are in one process, whoever asks for them first. */
static unsigned shard_of(const char *tenant, unsigned count)
{
	uint32_t hash = 2166136261u;
	for (; tenant && *tenant; tenant++)
		hash = (hash ^ (unsigned char)*tenant) * 16777619u;
	return hash % count;
}

bool aj_shard_is_home(const struct aj_server *s, const char *tenant)
{
	const struct aj_shard *shard = s->config->shard;
	return !shard || shard_of(tenant, shard->count) == shard->index;
}

/* A file with the frame and what came behind it; -1. */
static int keep_bytes(const char *body, size_t bytes, const char *rest, size_t rest_bytes)
{
	unsigned char length[AJ_FRAME_LENGTH];
	cleanup_fd int file = memfd_create("agentjail-frame", MFD_CLOEXEC);
	aj_frame_put_length(length, bytes);
	if (file < 0 || aj_write_all(file, length, sizeof length) < 0 || aj_write_all(file, body, bytes) < 0 ||
	    aj_write_all(file, rest, rest_bytes) < 0)
		return -1;
	return aj_steal(&file);
}

bool aj_shard_give_away(struct aj_client *c, const char *tenant, const char *body, size_t bytes)
{
	const struct aj_shard *shard = c->server->config->shard;
	bool first = !c->settled;
	c->settled = true;
	/* While the service stops any shard refuses: the way to another one might be closed already. */
	if (!shard || !first || c->server->stopping || !LIST_EMPTY(&c->slots) || !LIST_EMPTY(&c->requests) ||
	    aj_buffer_left(&c->out))
		return false;
	struct aj_shard_message message = { .order = AJ_SHARD_CONNECTION,
		                            .to = shard_of(tenant, shard->count),
		                            .bytes = AJ_FRAME_LENGTH + bytes + c->rest_bytes };
	if (aj_shard_is_home(c->server, tenant))
		return false;
	cleanup_fd int file = keep_bytes(body, bytes, c->rest, c->rest_bytes);
	const int fds[] = { c->fd, file };
	if (file < 0 || aj_message_send_all(shard->front, &message, sizeof message, fds, 2) < 0)
		return false;
	aj_client_drop(c, NULL);
	return true;
}

/* A connection from another shard, with the bytes read from it. While the service stops its request is refused like any other. */
static void take_connection(struct aj_server *s, const struct aj_shard_message *message, struct aj_passed *passed)
{
	size_t most = AJ_FRAME_LENGTH + s->config->request_bytes + AJ_READ_BYTES;
	char *bytes = passed->count == 2 && message->bytes <= most ? malloc(message->bytes) : NULL;
	if (bytes && lseek(passed->fds[1], 0, SEEK_SET) == 0 && aj_read_all(passed->fds[1], bytes, message->bytes) == 0)
		aj_client_adopt(s, aj_steal(&passed->fds[0]), bytes, message->bytes);
	else
		aj_service_log(s->config, "a connection from another shard was dropped: its message is malformed");
	free(bytes);
}

static void on_front(struct aj_io *io, uint32_t events)
{
	struct aj_server *s = io->arg;
	struct aj_shard_message message;
	struct aj_passed passed;
	(void)events;
	int received = aj_shard_receive(io->fd, &message, &passed);
	if (received < 0)
		s->done = true; /* the front has ended */
	if (received <= 0)
		return;
	if (message.order == AJ_SHARD_STOP)
		s->on_stop(s);
	else if (message.order == AJ_SHARD_CONNECTION)
		take_connection(s, &message, &passed);
	for (size_t i = 0; i < passed.count; i++)
		aj_close(&passed.fds[i]);
}

static void on_publish(struct aj_timer *timer)
{
	struct aj_server *s = timer->arg;
	const struct aj_shard *shard = s->config->shard;
	aj_server_gauges(s, s->published);
	aj_board_publish(shard->board, shard->index, &s->metrics, s->published);
	s->just_published = true;
}

int aj_shard_begin(struct aj_server *s, struct aj_error *err)
{
	const struct aj_shard *shard = s->config->shard;
	s->front = (struct aj_io){ .fn = on_front, .arg = s, .fd = -1 };
	s->publish = (struct aj_timer){ .fn = on_publish, .arg = s };
	aj_board_keep_from_children(shard->board);
	if (fcntl(shard->front, F_SETFL, O_NONBLOCK) < 0 || aj_loop_watch(s->loop, &s->front, shard->front, EPOLLIN) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "shard", errno, "wait for the front's messages");
	return 0;
}

void aj_shard_publish_soon(struct aj_server *s)
{
	uint64_t gauges[AJ_GAUGES];
	if (!s->config->shard || s->publish.place)
		return;
	/* The turn that published ends here: another publication is due only if the turn went on to change a value. */
	bool again = s->just_published;
	s->just_published = false;
	if (again)
		aj_server_gauges(s, gauges);
	if (!again || memcmp(gauges, s->published, sizeof gauges) != 0)
		aj_loop_set(s->loop, &s->publish, aj_now_us() + PUBLISH_US);
}

void aj_shard_beat(const struct aj_server *s)
{
	aj_board_beat(s->config->shard->board, s->config->shard->index);
}

void aj_shard_add_others(const struct aj_server *s, uint64_t gauges[AJ_GAUGES], uint64_t *runs)
{
	const struct aj_shard *shard = s->config->shard;
	struct aj_metrics metrics = { 0 };
	if (!shard)
		return;
	aj_board_sum(shard->board, (int)shard->index, &metrics, gauges);
	*runs += metrics.run.count;
}
