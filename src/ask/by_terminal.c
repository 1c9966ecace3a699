/* Questions at the terminal of the person who started the run: one at a time, each answered by a line. While one is shown the jail's own terminal
 * is held, so that neither the jail's output nor keys that are meant for the jail get into it.
 * Keys that were typed before a question was shown are no answer to it; a word that is no answer is asked again twice, then it is a no. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <termios.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/fd.h"

enum { TRIES = 3 };

static const char nobody[] = "this name and port are not on the jail's list, and agentjail is not in the foreground of its terminal";

static void say(const struct aj_asker *a, const char *text)
{
	/* What the terminal does not take now is lost, and the question ends by its time. */
	ssize_t n = write(a->whom.fd, text, strlen(text));
	(void)n;
}

static void say_words(const struct aj_asker *a)
{
	say(a, "  once: allow it now, run: allow it until the run ends, deny: ");
}

static void on_line(struct aj_io *io, uint32_t events);

static bool show(struct aj_asked *q)
{
	struct aj_asker *a = q->asker;
	char text[600];
	if (tcgetpgrp(a->whom.fd) != getpgrp())
		return false;
	a->shown = q;
	a->tries = 0;
	a->typed = false;
	if (a->hold)
		a->hold(a->hold_arg, true);
	a->io.fn = on_line;
	a->io.arg = a;
	if (tcflush(a->whom.fd, TCIFLUSH) < 0 || aj_loop_watch(a->loop, &a->io, a->whom.fd, EPOLLIN) < 0)
		return false;
	snprintf(text, sizeof text, "\nagentjail: the jail wants to connect to %s:%u, which is not on its list%s (%lu s to answer).\n",
	         q->name, q->port, strstr(q->name, "xn--") ? "; xn-- stands for a name in other letters" : "", a->timeout_ms / 1000);
	say(a, text);
	say_words(a);
	return true;
}

static void drop(struct aj_asked *q)
{
	struct aj_asker *a = q->asker;
	if (a->shown != q)
		return;
	a->shown = NULL;
	aj_loop_unwatch(a->loop, &a->io);
	if (!a->typed)
		say(a, "\nagentjail: no answer: denied\n");
	struct aj_asked *next = NULL;
	for (size_t i = 0; i < AJ_ASK_OPEN_MAX && !a->ended; i++)
		if (a->open[i].asker && &a->open[i] != q && (!next || a->open[i].id < next->id))
			next = &a->open[i];
	if (!next && a->hold)
		a->hold(a->hold_arg, false);
	else if (next && !show(next))
		aj_asked_end(next, AJ_EGRESS_DENY, nobody);
}

static void on_line(struct aj_io *io, uint32_t events)
{
	static const struct {
		const char *word;
		enum aj_egress_verdict verdict;
	} words[] = { { "once", AJ_EGRESS_ONCE }, { "run", AJ_EGRESS_RUN }, { "deny", AJ_EGRESS_DENY }, { "no", AJ_EGRESS_DENY } };
	struct aj_asker *a = io->arg;
	char line[80];
	(void)events;
	ssize_t n = read(a->whom.fd, line, sizeof line - 1);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	size_t bytes = n > 0 ? (size_t)n : 0;
	while (bytes && strchr(" \t\r\n", line[bytes - 1]))
		bytes--;
	line[bytes] = '\0';
	for (size_t i = 0; n > 0 && i < sizeof words / sizeof *words; i++)
		if (strcmp(line, words[i].word) == 0) {
			a->typed = true;
			aj_asked_end(a->shown, words[i].verdict, "this name and port are not on the jail's list, and the answer was no");
			return;
		}
	if (n > 0 && ++a->tries < TRIES) {
		say_words(a);
		return;
	}
	aj_asked_end(a->shown, AJ_EGRESS_DENY, "this name and port are not on the jail's list, and what was typed is no answer");
}

static bool put(struct aj_asked *q)
{
	return q->asker->shown || show(q); /* the next one follows the one that is shown */
}

static void close_way(struct aj_asker *a)
{
	aj_loop_unwatch(a->loop, &a->io);
	aj_close(&a->whom.fd);
}

const struct aj_ask_way aj_ask_by_terminal = { nobody, put, drop, close_way };
