/* Asks through a socket of the caller: each question is a line, and answers are lines in any order.
 * A malformed line denies all open questions; if the socket is closed, or the caller does not read, all questions are denied. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "network/ask/ask.h"

static const char gone[] = "this name and port are not on the jail's list, and whoever would be asked has gone";
static const char no_answer[] = "this name and port are not on the jail's list, and the reply is not a valid answer";

static void deny_all(struct aj_asker *a, const char *why)
{
	for (size_t i = 0; i < AJ_ASK_OPEN_MAX; i++)
		if (a->open[i].asker)
			aj_asked_end(&a->open[i], AJ_EGRESS_DENY, why);
}

static void on_line(struct aj_asker *a, const char *line, size_t bytes)
{
	uint32_t id;
	enum aj_egress_verdict verdict;
	bool good = aj_ask_read_line(line, bytes, &id, &verdict);
	if (!good && (id == 0 || id == UINT32_MAX)) {
		deny_all(a, no_answer);
		return;
	}
	for (size_t i = 0; i < AJ_ASK_OPEN_MAX; i++) /* the answer to another question may be late: it has no effect */
		if (a->open[i].asker && a->open[i].id == id)
			aj_asked_end(&a->open[i], good ? verdict : AJ_EGRESS_DENY,
			             good ? "this name and port are not on the jail's list, and the answer was no" : no_answer);
}

static void end_questions(struct aj_asker *a)
{
	a->ended = true;
	aj_loop_unwatch(a->loop, &a->io);
	deny_all(a, gone);
}

static void on_bytes(struct aj_io *io, uint32_t events)
{
	struct aj_asker *a = io->arg;
	char *newline;
	(void)events;
	ssize_t n = recv(a->whom.fd, a->line + a->bytes, sizeof a->line - a->bytes, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_questions(a);
		return;
	}
	a->bytes += (size_t)n;
	while ((newline = memchr(a->line, '\n', a->bytes))) {
		size_t bytes = (size_t)(newline - a->line);
		on_line(a, a->line, bytes);
		a->bytes -= bytes + 1;
		memmove(a->line, newline + 1, a->bytes);
	}
	if (a->bytes == sizeof a->line) /* a line without an end */
		end_questions(a);
}

static bool put_question(struct aj_asked *q)
{
	struct aj_asker *a = q->asker;
	char line[AJ_ASK_LINE_BYTES];
	size_t bytes = aj_ask_write_line(q, line);
	a->io.fn = on_bytes;
	a->io.arg = a;
	if (a->ended || aj_loop_watch(a->loop, &a->io, a->whom.fd, EPOLLIN) < 0)
		return false;
	/* Half a line cannot be taken back. */
	ssize_t n = send(a->whom.fd, line, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0 && n != (ssize_t)bytes)
		a->ended = true;
	return n == (ssize_t)bytes;
}

static void drop_question(struct aj_asked *q)
{
	(void)q;
}

static void close_way(struct aj_asker *a)
{
	aj_loop_unwatch(a->loop, &a->io);
}

const struct aj_ask_way aj_ask_by_descriptor = { gone, put_question, drop_question, close_way };
