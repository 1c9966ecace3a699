/* One connection: its bytes in and out, and its end.
 * It interprets no request and waits for no slow reader; a client is freed from the loop only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "serve/state.h"

/* With more unread bytes than PAUSE_BYTES no further request is read; a client that reads nothing for STALL_US is dropped. */
enum { PAUSE_BYTES = 1 << 20, STALL_US = 30 * 1000000 };
/* Delay before a deadline is checked again, when unread input is ours to read. */
enum { LOOK_AGAIN_US = 100000 };
enum { FRAME_VALUES = 1000000 }; /* JSON values of a frame */

static void on_doom(struct aj_timer *timer)
{
	aj_client_free(timer->arg);
}

void aj_client_drop(struct aj_client *c, const char *why)
{
	if (c->dropped)
		return;
	if (why) {
		aj_server_log(c->server, "a client was dropped: %s", why);
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

/* End a client with an error, as far as the socket takes it at once. */
static void end_with_fault(struct aj_client *c, const struct aj_fault *fault)
{
	c->closing = true;
	if (aj_buffer_left(&c->out))
		aj_client_drop(c, NULL);
	else
		aj_client_error(c, NULL, fault);
}

/* Set the events to wait for, after bytes were sent or read. */
static void watch_client(struct aj_client *c)
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
	watch_client(c);
}

bool aj_client_begin(struct aj_client *c, const json_t *id)
{
	if (c->dropped)
		return false;
	if (aj_buffer_left(&c->out) > c->server->config->unread_bytes) {
		aj_client_drop(c, "too much waits to be read by it");
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
		watch_client(c);
}

void aj_client_error(struct aj_client *c, const json_t *id, const struct aj_fault *fault)
{
	c->server->metrics.errors[fault->code]++;
	if (!aj_client_begin(c, id))
		return;
	if (!id)
		aj_buffer_text(&c->out, "{\"id\":null");
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

static bool has_begun_frame(const struct aj_client *c)
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
	aj_fault(&fault, AJ_CODE_TOO_LARGE, "a frame announces %zu bytes; from 1 to %zu are taken", c->in.want, c->in.cap_bytes);
	c->closing = true;
	aj_client_error(c, NULL, &fault);
	watch_client(c);
}

/* Unread input in the socket is our delay, not the client's, and may complete the frame. */
static void on_late(struct aj_timer *timer)
{
	struct aj_client *c = timer->arg;
	struct aj_fault fault;
	char byte;
	if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
		aj_loop_set(c->server->loop, timer, aj_now_us() + LOOK_AGAIN_US);
		return;
	}
	aj_fault(&fault, AJ_CODE_REQUEST_TIMEOUT, "of a frame of %zu bytes %zu came within %lu ms", c->in.want, c->in.have,
	         (unsigned long)c->server->config->request_ms);
	c->server->metrics.counters[AJ_COUNT_CLIENTS_LATE]++;
	end_with_fault(c, &fault);
}

/* Called after each read: a frame's time limit begins with its first byte, not anew with each. */
static void update_deadline(struct aj_client *c, bool whole)
{
	struct aj_loop *loop = c->server->loop;
	if (!has_begun_frame(c)) {
		aj_loop_unset(loop, &c->late);
		c->since_us = aj_now_us();
	} else if (whole || !c->late.place) {
		c->since_us = aj_now_us();
		aj_loop_set(loop, &c->late, aj_in_ms(c->server->config->request_ms));
	}
}

static void on_input(struct aj_client *c)
{
	bool whole = false;
	char *input = c->server->input;
	ssize_t n = recv(c->fd, input, AJ_READ_BYTES, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		aj_client_drop(c, NULL);
		return;
	}
	for (size_t at = 0; at < (size_t)n && !c->dropped && !c->closing;) {
		const char *body;
		long used = aj_frame_feed(&c->in, input + at, (size_t)n - at, &body);
		if (used < 0) {
			refuse_frame(c);
			return;
		}
		at += (size_t)used;
		/* The JSON is scanned piece by piece, so that a long frame never occupies the loop for one long step. */
		if (c->in.have > c->scan.at)
			aj_scan_feed(&c->scan, (body ? body : c->in.body) + c->scan.at, c->in.have - c->scan.at);
		if (body) {
			aj_ops_request(c, body, c->in.want, &c->scan);
			end_frame(c);
			whole = true;
		}
	}
	if (!c->dropped && !c->closing)
		update_deadline(c, whole);
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

static void send_hello(struct aj_client *c)
{
	const struct aj_server *s = c->server;
	if (!aj_client_begin(c, NULL))
		return;
	aj_buffer_text(&c->out, "{\"hello\":{\"protocol\":");
	aj_buffer_number(&c->out, AJ_PROTOCOL);
	aj_buffer_text(&c->out, ",\"version\":\"" AJ_VERSION "\",\"policies\":[");
	for (size_t i = 0; i < aj_manager_policies(s->manager); i++) {
		const char *name = aj_manager_policy_name(s->manager, i);
		aj_buffer_text(&c->out, i ? "," : "");
		aj_buffer_string(&c->out, name, strlen(name));
	}
	aj_buffer_text(&c->out, "],\"limits\":{\"request_bytes\":");
	aj_buffer_number(&c->out, s->config->request_bytes);
	aj_buffer_text(&c->out, ",\"request_ms\":");
	aj_buffer_number(&c->out, s->config->request_ms);
	aj_buffer_text(&c->out, ",\"unread_bytes\":");
	aj_buffer_number(&c->out, s->config->unread_bytes);
	aj_buffer_text(&c->out, ",\"sessions\":");
	aj_buffer_number(&c->out, s->config->sessions_max);
	aj_buffer_text(&c->out, "}}}");
	aj_client_end(c);
}

/* Has the client neither jails nor requests, so that dropping it ends nothing? */
static bool idle(const struct aj_client *c)
{
	return !c->slots && !aj_table_first(&c->requests);
}

/* The client to drop when all places are taken: first one with an unfinished frame, then an idle one, last one with an unfinished frame and
 * work under way; within a class the one that has been in it for the longest. NULL: all clients have work under way. */
static struct aj_client *find_victim(const struct aj_server *s)
{
	enum { NEVER, WORKS_AND_BEGAN, IDLE, BEGAN } last = NEVER;
	struct aj_client *found = NULL;
	for (struct aj_client *c = s->clients; c; c = c->next) {
		bool begun = has_begun_frame(c), works = !idle(c);
		int class = c->dropped || c->closing ? NEVER : begun ? works ? WORKS_AND_BEGAN : BEGAN : works ? NEVER : IDLE;
		if (class == NEVER || class < (int)last || (class == (int)last && c->since_us >= found->since_us))
			continue;
		found = c;
		last = class;
	}
	return found;
}

/* False: all places are taken, and no client can be dropped. One place beyond the limit is for a user without a connection. */
static bool make_room(struct aj_server *s, const struct aj_client *newcomer)
{
	size_t there = 0, of_user = 0;
	for (const struct aj_client *c = s->clients; c; c = c->next) {
		there += !c->dropped && !c->closing;
		of_user += !c->dropped && !c->closing && c->uid == newcomer->uid;
	}
	struct aj_client *victim = there > s->config->clients_max ? find_victim(s) : NULL; /* the count includes the newcomer */
	if (victim && victim != newcomer) {
		struct aj_fault fault;
		aj_fault(&fault, AJ_CODE_BUSY, "%lu clients are connected, and this one made room for another: it %s",
		         (unsigned long)s->config->clients_max,
		         has_begun_frame(victim) ? "had begun a frame and not ended it" : "had nothing under way");
		fault.retry_ms = aj_slot_retry_ms(s);
		s->metrics.counters[AJ_COUNT_CLIENTS_LATE]++;
		end_with_fault(victim, &fault);
		return true;
	}
	return there <= s->config->clients_max || of_user == 1;
}

/* NULL, or why the client is refused. */
static const char *refusal(struct aj_server *s, struct aj_client *c, struct aj_fault *fault)
{
	uid_t uid;
	pid_t pid;
	bool known = aj_listen_peer(c->fd, &uid, &pid) == 0;
	if (!known || (uid != geteuid() && uid != 0)) {
		aj_fault(fault, AJ_CODE_DENIED, "this service is user %d's, and serves him and root only", (int)geteuid());
		aj_server_log(s, "user %d (process %d) was denied", known ? (int)uid : -1, known ? (int)pid : -1);
		return "denied";
	}
	c->uid = uid;
	if (!make_room(s, c)) {
		aj_fault(fault, AJ_CODE_BUSY, "%lu clients are connected, each with something under way, and no more may be",
		         (unsigned long)s->config->clients_max);
		fault->retry_ms = aj_slot_retry_ms(s);
		return "busy";
	}
	return NULL;
}

void aj_client_start(struct aj_server *s, int fd)
{
	struct aj_fault fault;
	struct aj_client *c = calloc(1, sizeof *c);
	if (!c)
		abort();
	*c = (struct aj_client){ .server = s,
		                 .fd = fd,
		                 .io = { .fn = on_io, .arg = c, .fd = -1, .quota = &c->quota },
		                 .drop = { .fn = on_doom, .arg = c },
		                 .stall = { .fn = on_stall, .arg = c },
		                 .late = { .fn = on_late, .arg = c },
		                 .since_us = aj_now_us(),
		                 .in.cap_bytes = s->config->request_bytes,
		                 .scan.max_values = FRAME_VALUES,
		                 .next = s->clients,
		                 .at = &s->clients };
	c->waiting_end = &c->waiting;
	if (c->next)
		c->next->at = &c->next;
	s->clients = c;
	s->client_count++;
	const char *why = refusal(s, c, &fault);
	if (why) {
		c->closing = true;
		s->metrics.counters[AJ_COUNT_CLIENTS_DENIED] += fault.code == AJ_CODE_DENIED;
		aj_client_error(c, NULL, &fault);
	} else {
		s->metrics.counters[AJ_COUNT_CLIENTS_ACCEPTED]++;
		send_hello(c);
	}
	watch_client(c);
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
	aj_ops_abandon(c);
	aj_close(&c->fd);
	aj_frame_next(&c->in);
	aj_buffer_free(&c->out);
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	s->client_count--;
	free(c);
	aj_slots_fill(s);
}
