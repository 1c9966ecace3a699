/* One connection: its bytes in and out, and its end.
 * It interprets no frame, which is for server->on_frame, and waits for no slow reader; a client is freed from the loop only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "service/process.h"
#include "service/state.h"

/* With more unread bytes than PAUSE_BYTES no further request is read; a client that reads nothing for STALL_US is dropped. */
enum { PAUSE_BYTES = 1 << 20, STALL_US = 30 * 1000000 };
/* Delay before a deadline is checked again, when unread input is ours to read. */
enum { RECHECK_US = 100000 };
enum { FRAME_VALUES = 1000000 }; /* JSON values of a frame */

static void on_drop(struct aj_timer *timer)
{
	aj_client_free(timer->arg);
}

void aj_client_drop(struct aj_client *c, const char *why)
{
	if (c->dropped)
		return;
	if (why) {
		aj_service_log(c->server->config, "a client was dropped: %s", why);
		c->server->metrics.counters[AJ_COUNT_CLIENTS_DROPPED]++;
	}
	c->dropped = true;
	aj_loop_unwatch(c->server->loop, &c->io);
	aj_loop_unset(c->server->loop, &c->stall);
	aj_loop_unset(c->server->loop, &c->late);
	aj_loop_set(c->server->loop, &c->drop, aj_now_us());
}

static void on_stall(struct aj_timer *timer)
{
	aj_client_drop(timer->arg, "it read nothing for 30 s");
}

void aj_client_watch(struct aj_client *c)
{
	size_t left = aj_buffer_left(&c->out);
	if (c->dropped)
		return;
	if (c->closing && !left) {
		aj_client_drop(c, NULL);
		return;
	}
	uint32_t events = (left > PAUSE_BYTES || c->closing ? 0 : EPOLLIN) | (left ? EPOLLOUT : 0);
	if (aj_loop_watch(c->server->loop, &c->io, c->fd, events) < 0)
		aj_client_drop(c, "it cannot be waited for");
	else if (!left)
		aj_loop_unset(c->server->loop, &c->stall);
}

/* Progress restarts the stall timer. */
static void send_more(struct aj_client *c)
{
	size_t before = aj_buffer_left(&c->out);
	if (!before)
		return;
	if (aj_buffer_send(&c->out, c->fd) < 0) {
		aj_client_drop(c, NULL);
		return;
	}
	size_t left = aj_buffer_left(&c->out);
	if (left && (left < before || !c->stall.place))
		aj_loop_set(c->server->loop, &c->stall, aj_now_us() + STALL_US);
	aj_client_watch(c);
}

bool aj_client_begin(struct aj_client *c, const json_t *id)
{
	if (c->dropped)
		return false;
	if (aj_buffer_left(&c->out) > c->server->config->unread_bytes) {
		aj_client_drop(c, "it has left too many bytes unread");
		return false;
	}
	aj_buffer_begin(&c->out);
	if (id) {
		aj_buffer_text(&c->out, "{\"id\":");
		aj_buffer_json(&c->out, id);
	}
	return true;
}

void aj_client_end(struct aj_client *c)
{
	bool idle = aj_buffer_left(&c->out) == c->out.bytes - c->out.begun;
	aj_buffer_end(&c->out);
	/* With a backlog the loop reports when the socket has room again. */
	if (idle)
		send_more(c);
	else
		aj_client_watch(c);
}

void aj_client_error(struct aj_client *c, const json_t *id, const struct aj_fault *fault)
{
	c->server->metrics.errors[fault->code]++;
	if (!aj_client_begin(c, id))
		return;
	if (!id)
		aj_buffer_text(&c->out, "{\"id\":null");
	if (fault->request) {
		aj_buffer_text(&c->out, ",\"request\":");
		aj_buffer_json(&c->out, fault->request);
		aj_buffer_text(&c->out, ",\"call\":");
		aj_buffer_number(&c->out, fault->call);
	}
	aj_buffer_text(&c->out, ",\"error\":{\"code\":\"");
	aj_buffer_text(&c->out, aj_fault_name(fault->code));
	aj_buffer_text(&c->out, "\",\"message\":");
	aj_buffer_string(&c->out, fault->message, strlen(fault->message));
	aj_buffer_text(&c->out, ",\"fix\":");
	aj_buffer_string(&c->out, fault->fix, strlen(fault->fix));
	if (fault->retry_ms) {
		aj_buffer_text(&c->out, ",\"retry_ms\":");
		aj_buffer_number(&c->out, fault->retry_ms);
	}
	aj_buffer_text(&c->out, "}}");
	aj_client_end(c);
}

void aj_client_result(struct aj_client *c, const json_t *id, const json_t *result)
{
	if (!aj_client_begin(c, id))
		return;
	aj_buffer_text(&c->out, ",\"result\":");
	aj_buffer_json(&c->out, result);
	aj_buffer_text(&c->out, "}");
	aj_client_end(c);
}

void aj_client_result_text(struct aj_client *c, const json_t *id, const struct aj_buffer *result)
{
	if (!aj_client_begin(c, id))
		return;
	aj_buffer_text(&c->out, ",\"result\":");
	aj_buffer_add(&c->out, result->data, result->bytes);
	aj_buffer_text(&c->out, "}");
	aj_client_end(c);
}

void aj_client_expel(struct aj_client *c, const struct aj_fault *fault)
{
	c->closing = true;
	if (aj_buffer_left(&c->out))
		aj_client_drop(c, NULL);
	else
		aj_client_error(c, NULL, fault);
}

bool aj_client_in_frame(const struct aj_client *c)
{
	return c->in.head_bytes > 0;
}

static void end_frame(struct aj_client *c)
{
	aj_frame_next(&c->in);
	c->scan = (struct aj_scan){ .max_values = FRAME_VALUES };
}

static void refuse_frame(struct aj_client *c)
{
	struct aj_fault fault;
	aj_fault(&fault, AJ_CODE_TOO_LARGE, "a frame announces %zu bytes; allowed are 1 to %zu", c->in.want, c->in.cap_bytes);
	c->closing = true;
	aj_client_error(c, NULL, &fault);
	aj_client_watch(c);
}

/* Unread input in the socket is our delay, not the client's, and may complete the frame. */
static void on_late(struct aj_timer *timer)
{
	struct aj_client *c = timer->arg;
	struct aj_fault fault;
	char byte;
	if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
		aj_loop_set(c->server->loop, timer, aj_now_us() + RECHECK_US);
		return;
	}
	aj_fault(&fault, AJ_CODE_REQUEST_TIMEOUT, "of a frame of %zu bytes %zu came within %lu ms", c->in.want, c->in.have,
	         (unsigned long)c->server->config->request_ms);
	c->server->metrics.counters[AJ_COUNT_CLIENTS_LATE]++;
	aj_client_expel(c, &fault);
}

/* Called after each read: a frame's time limit begins with its first byte, not anew with each. */
static void update_deadline(struct aj_client *c, bool whole)
{
	struct aj_loop *loop = c->server->loop;
	if (!aj_client_in_frame(c)) {
		aj_loop_unset(loop, &c->late);
		c->since_us = aj_now_us();
	} else if (whole || !c->late.place) {
		c->since_us = aj_now_us();
		aj_loop_set(loop, &c->late, aj_in_ms(c->server->config->request_ms));
	}
}

void aj_client_feed(struct aj_client *c, const char *input, size_t bytes)
{
	bool whole = false;
	for (size_t at = 0; at < bytes && !c->dropped && !c->closing;) {
		const char *body;
		long used = aj_frame_feed(&c->in, input + at, bytes - at, &body);
		if (used < 0) {
			refuse_frame(c);
			return;
		}
		at += (size_t)used;
		/* The JSON is scanned piece by piece, so that a long frame never occupies the loop for one long step. */
		if (c->in.have > c->scan.at)
			aj_scan_feed(&c->scan, (body ? body : c->in.body) + c->scan.at, c->in.have - c->scan.at);
		if (body) {
			c->rest = input + at;
			c->rest_bytes = bytes - at;
			c->server->on_frame(c, body, c->in.want, &c->scan);
			end_frame(c);
			whole = true;
		}
	}
	if (!c->dropped && !c->closing)
		update_deadline(c, whole);
}

static void on_input(struct aj_client *c)
{
	char *input = c->server->input;
	ssize_t n = recv(c->fd, input, AJ_READ_BYTES, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		aj_client_feed(c, input, (size_t)n);
	else
		aj_client_drop(c, NULL);
}

static void on_io(struct aj_io *io, uint32_t events)
{
	struct aj_client *c = io->arg;
	if (events & EPOLLOUT)
		send_more(c);
	/* A client that hung up reads no answer; the requests that it still sent are not begun. */
	if (!c->dropped && (events & (EPOLLHUP | EPOLLERR)))
		aj_client_drop(c, NULL);
	if (!c->dropped && (events & EPOLLIN))
		on_input(c);
}

struct aj_client *aj_client_new(struct aj_server *s, int fd)
{
	struct aj_client *c = calloc(1, sizeof *c);
	if (!c)
		abort();
	*c = (struct aj_client){ .server = s,
		                 .fd = fd,
		                 .io = { .fn = on_io, .arg = c, .fd = -1, .quota = &c->quota },
		                 .drop = { .fn = on_drop, .arg = c },
		                 .stall = { .fn = on_stall, .arg = c },
		                 .late = { .fn = on_late, .arg = c },
		                 .since_us = aj_now_us(),
		                 .in.cap_bytes = s->config->request_bytes,
		                 .scan.max_values = FRAME_VALUES };
	TAILQ_INIT(&c->party.waiting);
	LIST_INSERT_HEAD(&s->clients, c, of_server);
	s->client_count++;
	return c;
}

void aj_client_free(struct aj_client *c)
{
	struct aj_server *s = c->server;
	c->dropped = true;
	aj_loop_unwatch(s->loop, &c->io);
	aj_loop_unset(s->loop, &c->stall);
	aj_loop_unset(s->loop, &c->drop);
	aj_loop_unset(s->loop, &c->late);
	aj_loop_forget(s->loop, &c->quota);
	s->on_closed(c);
	aj_close(&c->fd);
	aj_frame_next(&c->in);
	aj_buffer_free(&c->out);
	LIST_REMOVE(c, of_server);
	s->client_count--;
	free(c);
}
