/* Asks the site's upstream proxy for a connection to a listed name, and reads its answer: a head of limited length, of which only
 * the status is used. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/text.h"
#include "network/egress/connection.h"

enum { ANSWER_BYTES = 4096, STATUS_AT = 9 /* behind HTTP/1.x and a blank */ };

/* The proxy's answer, or a part of it, has come. */
static void on_answer(struct aj_io *io, uint32_t events)
{
	struct aj_connection *c = io->arg;
	char *answer = c->answer, status[64];
	(void)events;
	ssize_t n = recv(io->fd, answer + c->answer_bytes, ANSWER_BYTES - c->answer_bytes, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		aj_upstream_failed(c, n < 0 ? "the site's proxy reset the connection" : "the site's proxy closed the connection");
		return;
	}
	c->answer_bytes += (size_t)n;
	const char *end = memmem(answer, c->answer_bytes, "\r\n\r\n", 4);
	if (!end && c->answer_bytes == ANSWER_BYTES) {
		aj_upstream_failed(c, "the site's proxy answers with a head that is too long");
		return;
	}
	if (!end)
		return;
	if (strncmp(answer, "HTTP/1.", 7) != 0 || answer[STATUS_AT] != '2') {
		char why[120], line[48];
		if (strncmp(answer + STATUS_AT, "407", 3) == 0) {
			aj_upstream_failed(c,
			                   "the site's proxy requires a user and a password, or rejected those of network.upstream_proxy_credentials");
			return;
		}
		snprintf(line, sizeof line, "%.*s", (int)strcspn(answer, "\r\n"), answer);
		aj_ascii(status, sizeof status, line);
		snprintf(why, sizeof why, "the site's proxy says: %s", status);
		aj_upstream_failed(c, why);
		return;
	}
	/* A server that speaks first may have spoken. */
	size_t head = (size_t)(end + 4 - answer), rest = c->answer_bytes - head;
	if (rest && !aj_flow_prepend(&c->in, (const uint8_t *)answer + head, rest)) {
		aj_upstream_failed(c, "the relay has no memory left");
		return;
	}
	free(c->answer);
	c->answer = NULL;
	aj_upstream_made(c, io->fd);
}

void aj_proxy_ask(struct aj_connection *c, int fd)
{
	char host[264], request[700 + AJ_CREDENTIALS_TEXT];
	const char *authorization = c->relay->proxy.authorization;
	char address[46];
	if (c->name)
		snprintf(host, sizeof host, "%s:%u", c->name->text, c->port);
	else {
		aj_sockaddr_text(c->target.family, c->target.address, address);
		snprintf(host, sizeof host, c->target.family == AF_INET ? "%s:%u" : "[%s]:%u", address, c->port);
	}
	int bytes = snprintf(request, sizeof request, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", host, host,
	                     *authorization ? "Proxy-Authorization: " : "", authorization, *authorization ? "\r\n" : "");
	c->upstream = AJ_UPSTREAM_ASKING;
	c->answer = malloc(ANSWER_BYTES);
	c->answer_bytes = 0;
	c->outside.fn = on_answer;
	if (!c->answer || aj_loop_watch(c->relay->loop, &c->outside, fd, EPOLLIN) < 0) {
		aj_loop_unwatch(c->relay->loop, &c->outside);
		close(fd);
		aj_upstream_failed(c, "the relay has no memory left");
	} else if (send(fd, request, (size_t)bytes, MSG_DONTWAIT | MSG_NOSIGNAL) != bytes) /* fits into an empty socket buffer */
		aj_upstream_failed(c, "the site's proxy reset the connection");
}
