/* Answers the jail's DNS queries, over UDP and TCP: a synthetic address for each name, listed or refused, and no record of other
 * types. It forwards nothing, resolves no name, and limits the queries and names of a jail. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "network/egress/connection.h"

enum {
	QUERY_BYTES = 1232,
	CLIENTS = 16, /* over TCP, at once */
	CLIENT_US = 10 * 1000000,
	QUERIES_PER_S = 2000, /* beyond that they are dropped, as on a network */
	NEW_PER_S = 16,       /* names that were not asked for before: a wildcard is no way to send data by names */
	NEW_AT_ONCE = 256,
	BELOW_BYTES = 100, /* that a wildcard stands for, for the same reason */
	REFUSED_TTL_S = 5, /* a program that keeps the address of a refused name asks again before the name has lost it */
	SENTENCE_BYTES = 1024,
};

struct client {
	struct aj_dns_server *server;
	struct aj_io io;
	struct aj_timer timer;
	uint8_t data[2 + QUERY_BYTES];
	size_t bytes;
};

struct aj_dns_server {
	struct aj_relay *relay;
	struct aj_io udp[2], tcp[2];
	struct aj_rate queries, fresh;
	struct client clients[CLIENTS];
};

/* A name of the list, for a question for its address; NULL with an answer's code where it gets none. */
static struct aj_name *listed_name(struct aj_dns_server *s, const struct aj_dns_query *q, int64_t now_us, int *ret_rcode)
{
	struct aj_relay *relay = s->relay;
	struct aj_egress_event event;
	if (aj_rules_below(&relay->rules, q->name) > BELOW_BYTES) {
		event = aj_refusal(q->name, "", 0, "a wildcard stands for %d bytes at most", BELOW_BYTES);
		*ret_rcode = AJ_DNS_NO_NAME;
		aj_report(relay, &event);
		return NULL;
	}
	if (q->type != AJ_DNS_A && q->type != AJ_DNS_AAAA)
		return NULL;
	struct aj_name *name = aj_names_find(relay->names, q->name);
	if (!name && aj_rate_take(&s->fresh, NEW_PER_S, NEW_AT_ONCE, now_us))
		name = aj_names_take(relay->names, q->name, now_us);
	if (name) {
		name->used_us = now_us;
		return name;
	}
	event = aj_refusal(q->name, "", 0, "the jail uses too many names");
	*ret_rcode = AJ_DNS_FAILED;
	aj_report(relay, &event);
	return NULL;
}

/* The answer to one message; 0: none. */
static size_t answer(struct aj_dns_server *s, const uint8_t *message, size_t bytes, uint8_t out[AJ_DNS_ANSWER_BYTES])
{
	struct aj_relay *relay = s->relay;
	struct aj_dns_query q;
	struct aj_name *name = NULL;
	uint8_t address[16];
	char sentence[SENTENCE_BYTES] = "";
	int64_t now_us = aj_now_us();
	int rcode = aj_dns_parse(message, bytes, &q);
	if (rcode < 0 || !aj_rate_take(&s->queries, QUERIES_PER_S, QUERIES_PER_S, now_us))
		return 0;
	if (rcode == AJ_DNS_OK && !*q.name) /* the root: no host has that name, so there is none to report or to ask for */
		rcode = AJ_DNS_NO_NAME;
	bool listed = rcode == AJ_DNS_OK && aj_rules_some_port(&relay->rules, q.name);
	if (listed)
		name = listed_name(s, &q, now_us, &rcode);
	else if (rcode == AJ_DNS_OK && !(name = aj_refused_name(relay, &q, now_us, sentence, sizeof sentence)))
		rcode = AJ_DNS_NO_NAME;
	bool has = name && (q.type == AJ_DNS_A || (q.type == AJ_DNS_AAAA && relay->sockets.listener[1] >= 0));
	if (has)
		aj_names_address(q.type == AJ_DNS_A ? AF_INET : AF_INET6, name->number, address);
	return aj_dns_answer(&q, message, (uint8_t)rcode, has ? address : NULL, listed ? AJ_NAMES_TTL_S : REFUSED_TTL_S, sentence,
	                     out, AJ_DNS_ANSWER_BYTES);
}

/* --- UDP --- */

static void on_udp(struct aj_io *io, uint32_t events)
{
	struct aj_dns_server *s = io->arg;
	uint8_t message[QUERY_BYTES], out[AJ_DNS_ANSWER_BYTES];
	union aj_sockaddr from;
	socklen_t from_bytes = sizeof from;
	(void)events;
	ssize_t n = recvfrom(io->fd, message, sizeof message, MSG_DONTWAIT | MSG_TRUNC, &from.any, &from_bytes);
	size_t bytes = n > 0 && (size_t)n <= sizeof message ? answer(s, message, (size_t)n, out) : 0;
	if (bytes)
		sendto(io->fd, out, bytes, MSG_DONTWAIT | MSG_NOSIGNAL, &from.any, from_bytes);
	if (aj_reports_full(s->relay))
		aj_listeners_park(s->relay);
}

/* --- TCP: a length of two bytes before each message --- */

static void end_client(struct client *client)
{
	int fd = client->io.fd;
	aj_loop_unwatch(client->server->relay->loop, &client->io);
	aj_loop_unset(client->server->relay->loop, &client->timer);
	aj_close(&fd);
	client->bytes = 0;
}

static void on_client_slow(struct aj_timer *timer)
{
	end_client(timer->arg);
}

/* False: this client is done with. */
static bool answer_client(struct client *client)
{
	uint8_t out[2 + AJ_DNS_ANSWER_BYTES];
	while (client->bytes >= 2 && !aj_reports_full(client->server->relay)) {
		size_t want = (size_t)client->data[0] << 8 | client->data[1];
		if (want > QUERY_BYTES)
			return false;
		if (client->bytes < 2 + want)
			return true;
		size_t bytes = answer(client->server, client->data + 2, want, out + 2);
		out[0] = (uint8_t)(bytes >> 8);
		out[1] = (uint8_t)bytes;
		/* A client that leaves no room for so little reads no answers. */
		if (!bytes || send(client->io.fd, out, 2 + bytes, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(2 + bytes))
			return false;
		client->bytes -= 2 + want;
		memmove(client->data, client->data + 2 + want, client->bytes);
	}
	return true;
}

static void on_client(struct aj_io *io, uint32_t events)
{
	struct client *client = io->arg;
	(void)events;
	ssize_t n = recv(io->fd, client->data + client->bytes, sizeof client->data - client->bytes, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		client->bytes += (size_t)n;
	if (n <= 0 || !answer_client(client) || aj_reports_full(client->server->relay))
		end_client(client);
	else
		aj_loop_set(client->server->relay->loop, &client->timer, aj_now_us() + CLIENT_US);
}

static void on_tcp(struct aj_io *io, uint32_t events)
{
	struct aj_dns_server *s = io->arg;
	struct client *free = NULL;
	(void)events;
	int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE)
			aj_listeners_park(s->relay);
		return;
	}
	for (int i = 0; i < CLIENTS && !free; i++)
		if (s->clients[i].io.fd < 0)
			free = &s->clients[i];
	if (!free || aj_loop_watch(s->relay->loop, &free->io, fd, EPOLLIN) < 0)
		close(fd);
	else
		aj_loop_set(s->relay->loop, &free->timer, aj_now_us() + CLIENT_US);
}

/* --- the server --- */

struct aj_dns_server *aj_dns_server_new(struct aj_relay *relay)
{
	struct aj_dns_server *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->relay = relay;
	for (int i = 0; i < 2; i++) {
		s->udp[i] = (struct aj_io){ .fn = on_udp, .arg = s, .fd = -1 };
		s->tcp[i] = (struct aj_io){ .fn = on_tcp, .arg = s, .fd = -1 };
	}
	for (int i = 0; i < CLIENTS; i++) {
		struct client *c = &s->clients[i];
		c->server = s;
		c->io = (struct aj_io){ .fn = on_client, .arg = c, .fd = -1 };
		c->timer = (struct aj_timer){ .fn = on_client_slow, .arg = c };
	}
	return s;
}

int aj_dns_server_watch(struct aj_dns_server *s, bool on)
{
	for (int i = 0; i < 2; i++) {
		const struct {
			struct aj_io *io;
			int fd;
		} rows[] = { { &s->udp[i], s->relay->sockets.dns_udp[i] }, { &s->tcp[i], s->relay->sockets.dns_tcp[i] } };
		for (int j = 0; j < 2; j++)
			if (!on)
				aj_loop_unwatch(s->relay->loop, rows[j].io);
			else if (rows[j].fd >= 0 && aj_loop_watch(s->relay->loop, rows[j].io, rows[j].fd, EPOLLIN) < 0)
				return -1;
	}
	return 0;
}
