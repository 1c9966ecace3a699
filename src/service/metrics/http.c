/* Answers GET /metrics, one request a connection, a few connections at a time, each within a few seconds. No slow client delays
 * the others: when all places are taken the oldest is dropped. */
#include "service/metrics/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "service/sockets/accept.h"
#include "service/sockets/send.h"

struct visitor {
	struct aj_metrics_http *http; /* NULL: a free place */
	struct aj_io io;
	struct aj_timer timer;
	int fd;
	char head[AJ_HTTP_REQUEST_BYTES];
	size_t bytes;
	struct aj_buffer out;
};

struct aj_metrics_http {
	struct aj_loop *loop;
	struct aj_acceptor accept;
	struct aj_quota quota; /* shared by all visitors: on a loopback address any local process may connect */
	void (*print)(void *arg, struct aj_buffer *out);
	void *arg;
	struct visitor visitors[AJ_HTTP_CLIENTS];
};

static const struct {
	int status;
	const char *phrase;
} phrases[] = {
	{ 200, "OK" },
	{ 400, "Bad Request" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 431, "Request Header Fields Too Large" },
	{ 505, "HTTP Version Not Supported" },
};

int aj_http_status(const char *head, size_t bytes, bool *ret_body)
{
	const char *line_end = memchr(head, '\n', bytes);
	*ret_body = true;
	if (memchr(head, '\0', bytes))
		return 400;
	if (!line_end || (!memmem(head, bytes, "\r\n\r\n", 4) && !memmem(head, bytes, "\n\n", 2)))
		return bytes == AJ_HTTP_REQUEST_BYTES ? 431 : 0;
	size_t length = (size_t)(line_end - head);
	length -= length && head[length - 1] == '\r';
	const char *space = memchr(head, ' ', length);
	const char *path = space ? space + 1 : NULL, *second = path ? memchr(path, ' ', length - (size_t)(path - head)) : NULL;
	if (!second || space == head)
		return 400;
	const char *version = second + 1;
	size_t method_bytes = (size_t)(space - head), path_bytes = (size_t)(second - path),
	       version_bytes = length - (size_t)(version - head);
	if (version_bytes != 8 || memcmp(version, "HTTP/", 5) != 0)
		return 400;
	if (memcmp(version, "HTTP/1.", 7) != 0)
		return 505;
	if (method_bytes == 4 && memcmp(head, "HEAD", 4) == 0)
		*ret_body = false;
	else if (method_bytes != 3 || memcmp(head, "GET", 3) != 0)
		return 405;
	path_bytes = memchr(path, '?', path_bytes) ? (size_t)((const char *)memchr(path, '?', path_bytes) - path) : path_bytes;
	return path_bytes == 8 && memcmp(path, "/metrics", 8) == 0 ? 200 : 404;
}

static void close_visitor(struct visitor *v)
{
	aj_loop_unwatch(v->http->loop, &v->io);
	aj_loop_unset(v->http->loop, &v->timer);
	aj_close(&v->fd);
	aj_buffer_free(&v->out);
	v->http = NULL;
}

static void compose_answer(struct visitor *v, int status, bool body)
{
	struct aj_buffer page = { 0 };
	char head[256];
	const char *phrase = "";
	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
		phrase = phrases[i].status == status ? phrases[i].phrase : phrase;
	if (status == 200)
		v->http->print(v->http->arg, &page);
	else
		aj_buffer_text(&page, phrase), aj_buffer_text(&page, "\n");
	int n = snprintf(head, sizeof head,
	                 "HTTP/1.1 %d %s\r\nContent-Type: text/plain; %scharset=utf-8\r\n"
	                 "Content-Length: %zu\r\nConnection: close\r\n%s\r\n",
	                 status, phrase, status == 200 ? "version=0.0.4; " : "", page.bytes,
	                 status == 405 ? "Allow: GET, HEAD\r\n" : "");
	aj_buffer_add(&v->out, head, (size_t)n);
	if (body)
		aj_buffer_add(&v->out, page.data, page.bytes);
	aj_buffer_free(&page);
}

static void on_visitor(struct aj_io *io, uint32_t events)
{
	struct visitor *v = io->arg;
	bool body;
	if (!aj_buffer_left(&v->out)) {
		ssize_t n = recv(v->fd, v->head + v->bytes, sizeof v->head - v->bytes, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			close_visitor(v);
			return;
		}
		v->bytes += (size_t)n;
		int status = aj_http_status(v->head, v->bytes, &body);
		if (!status)
			return;
		compose_answer(v, status, body);
	}
	if (aj_buffer_send(&v->out, v->fd) < 0 || !aj_buffer_left(&v->out) || (events & (EPOLLHUP | EPOLLERR))) {
		shutdown(v->fd, SHUT_WR);
		close_visitor(v);
	} else {
		aj_loop_watch(v->http->loop, &v->io, v->fd, EPOLLOUT);
	}
}

static void on_late(struct aj_timer *timer)
{
	close_visitor(timer->arg);
}

static void on_connection(void *arg, int fd)
{
	struct aj_metrics_http *http = arg;
	/* Take a free place, or else the oldest visitor's. */
	struct visitor *v = http->visitors;
	for (size_t i = 0; i < AJ_HTTP_CLIENTS && v->http; i++)
		if (!http->visitors[i].http || http->visitors[i].timer.at_us < v->timer.at_us)
			v = &http->visitors[i];
	if (v->http)
		close_visitor(v);
	*v = (struct visitor){ .http = http,
		               .fd = fd,
		               .io = { .fn = on_visitor, .arg = v, .fd = -1, .quota = &http->quota },
		               .timer = { .fn = on_late, .arg = v } };
	aj_loop_set(http->loop, &v->timer, aj_now_us() + AJ_HTTP_LIMIT_MS * INT64_C(1000));
	if (aj_loop_watch(http->loop, &v->io, fd, EPOLLIN) < 0)
		close_visitor(v);
}

struct aj_metrics_http *aj_http_new(struct aj_loop *loop, struct aj_listener *listener,
                                    void (*print)(void *arg, struct aj_buffer *out), void *arg)
{
	struct aj_metrics_http *http = calloc(1, sizeof *http);
	if (!http)
		abort();
	*http = (struct aj_metrics_http){
		.loop = loop,
		.accept = { .listener = *listener, .on_connection = on_connection, .arg = http, .quota = &http->quota },
		.print = print,
		.arg = arg
	};
	*listener = (struct aj_listener)AJ_NO_LISTENER;
	if (aj_accept_begin(&http->accept, loop) == 0)
		return http;
	aj_http_free(http);
	return NULL;
}

void aj_http_free(struct aj_metrics_http *http)
{
	if (!http)
		return;
	for (size_t i = 0; i < AJ_HTTP_CLIENTS; i++)
		if (http->visitors[i].http)
			close_visitor(&http->visitors[i]);
	aj_accept_end(&http->accept);
	aj_loop_forget(http->loop, &http->quota);
	free(http);
}
