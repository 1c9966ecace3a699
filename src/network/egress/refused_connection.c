/* Keeps a refused connection open until its first bytes show its protocol, answers it, and closes it once the program has read
 * the answer, or after a time limit. */
#include "network/egress/refused_connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sockaddr.h"
#include "network/egress/relay.h"
#include "network/helper/socket_end.h"
#include "network/inspect/refusal.h"

enum {
	MOST = 64,
	SENTENCE_BYTES = 1024,
	SILENT_US = 1000000, /* for a first byte: in many protocols the server speaks first; then for the last needed byte */
	AWAITED_US = 10 * 1000000, /* for a first byte, on ports on which the program speaks first */
	LINGER_US = 2 * 1000000,   /* for the program to read the answer and to end: unread bytes would make the end a reset, */
	LINGER_BYTES = 16 << 20,   /* which destroys the answer. So what the program sends meanwhile is thrown away */
	THROWN_AT_ONCE = 1 << 20,
};

struct refused_connections {
	struct aj_refused_connections *all;
	struct aj_io io; /* fd -1: free */
	struct aj_timer timer;
	bool answered;
	uint16_t port;
	size_t bytes; /* in `first`; once it is answered, those that were thrown away */
	uint8_t first[AJ_REFUSAL_FIRST_BYTES];
	char sentence[SENTENCE_BYTES];
};

struct aj_refused_connections {
	struct aj_loop *loop;
	unsigned next; /* in a ring: the oldest one makes room */
	struct refused_connections ring[MOST];
};

static void end(struct refused_connections *t)
{
	int fd = t->io.fd;
	aj_loop_unwatch(t->all->loop, &t->io);
	aj_loop_unset(t->all->loop, &t->timer);
	if (t->answered)
		close(fd);
	else
		aj_socket_end_reset(fd);
}

static void on_slow(struct aj_timer *timer)
{
	end(timer->arg);
}

/* Answers if the first bytes, which may be all that come, tell how. */
static void judge(struct refused_connections *t, bool whole)
{
	uint8_t out[AJ_REFUSAL_BYTES];
	size_t bytes = 0;
	enum aj_refusal answer = aj_refusal_answer(t->first, t->bytes, whole || t->bytes == sizeof t->first, t->port, t->sentence,
	                                           out, &bytes);
	if (answer == AJ_REFUSAL_MORE)
		return;
	/* Nothing was sent on this socket before, so it takes the answer whole, or its peer is gone. */
	t->answered = answer == AJ_REFUSAL_ANSWERED && send(t->io.fd, out, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)bytes;
	if (!t->answered || whole) {
		end(t);
		return;
	}
	shutdown(t->io.fd, SHUT_WR);
	t->bytes = 0;
	aj_loop_set(t->all->loop, &t->timer, aj_now_us() + LINGER_US);
}

static void on_bytes(struct aj_io *io, uint32_t events)
{
	struct refused_connections *t = io->arg;
	(void)events;
	ssize_t n = t->answered ? recv(io->fd, NULL, THROWN_AT_ONCE, MSG_DONTWAIT | MSG_TRUNC)
	                        : recv(io->fd, t->first + t->bytes, sizeof t->first - t->bytes, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && !t->answered && t->bytes == 0)
		aj_loop_set(t->all->loop, &t->timer, aj_now_us() + SILENT_US);
	if (n > 0)
		t->bytes += (size_t)n;
	if (!t->answered && n >= 0)
		judge(t, n == 0);
	else if (n <= 0 || t->bytes > LINGER_BYTES)
		end(t);
}

void aj_refuse_connection(struct aj_refused_connections *all, int fd, const struct aj_egress_event *refusal, const uint8_t *data,
                          size_t bytes)
{
	struct refused_connections *t = &all->ring[all->next++ % MOST];
	if (t->io.fd >= 0)
		end(t);
	t->answered = false;
	t->port = refusal->port;
	t->bytes = bytes < sizeof t->first ? bytes : sizeof t->first;
	if (t->bytes)
		memcpy(t->first, data, t->bytes);
	aj_egress_refusal_text(refusal, t->sentence, sizeof t->sentence);
	if (aj_loop_watch(all->loop, &t->io, fd, EPOLLIN) < 0) {
		aj_socket_end_reset(fd);
		return;
	}
	aj_loop_set(all->loop, &t->timer, aj_now_us() + (aj_first_bytes_awaited(t->port) ? AWAITED_US : SILENT_US));
	if (t->bytes)
		judge(t, false);
	else
		on_bytes(&t->io, EPOLLIN); /* they are often there already */
}

struct aj_refused_connections *aj_refused_connections_new(struct aj_relay *relay)
{
	struct aj_refused_connections *all = calloc(1, sizeof *all);
	for (int i = 0; all && i < MOST; i++) {
		struct refused_connections *t = &all->ring[i];
		t->all = all;
		t->io = (struct aj_io){ .fn = on_bytes, .arg = t, .fd = -1 };
		t->timer = (struct aj_timer){ .fn = on_slow, .arg = t };
	}
	if (all)
		all->loop = relay->loop;
	return all;
}
