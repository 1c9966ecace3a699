/* Asks at the terminal of the person who started the run: one question at a time, answered by a line. While a question is shown,
 * the jail's output and the keys for the jail wait. An answer that allows something has the question's number, which nobody can
 * type before reading the question. After an invalid line the question is repeated twice, then denied. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "network/ask/ask.h"

enum { TRIES = 3, FIRST_NUMBER = 10, NUMBERS = 90 };

static const char nobody[] =
    "this name and port are not on the jail's list, and agentjail is not in the foreground of its terminal";
static const char not_listed[] = "this name and port are not on the jail's list, and the answer was no";

static bool is_foreground(const struct aj_asker *a)
{
	return tcgetpgrp(a->whom.fd) == getpgrp();
}

/* --- output to the terminal --- */

static void put_words(struct aj_asker *a)
{
	char text[120];
	snprintf(text, sizeof text, "  once %u: allow it now, run %u: allow it until the run ends, deny: ", a->number, a->number);
	aj_buffer_text(&a->text, text);
}

/* 1: the terminal has all of the text; 0: not yet; -1: the terminal takes none. */
static int write_rest(const struct aj_asker *a, struct aj_buffer *text)
{
	while (text->sent < text->bytes) {
		ssize_t n = write(a->whom.fd, text->data + text->sent, text->bytes - text->sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN ? 0 : -1;
		text->sent += (size_t)n;
	}
	text->sent = text->bytes = 0;
	return 1;
}

/* The terminal has the question before it gets the words of an answer, and the keys that were typed until then are dropped. */
static void write_text(struct aj_asker *a)
{
	int r = write_rest(a, &a->text);
	if (r > 0 && !a->posed) {
		a->posed = true;
		put_words(a);
		r = tcflush(a->whom.fd, TCIFLUSH) < 0 ? -1 : write_rest(a, &a->text);
	}
	if (r < 0 || aj_loop_watch(a->loop, &a->io, a->whom.fd, r > 0 ? EPOLLIN : EPOLLOUT) < 0)
		aj_loop_set(a->loop, &a->shown->deadline, aj_now_us()); /* no answer can come */
}

static void print_question(struct aj_asker *a)
{
	const struct aj_asked *q = a->shown;
	char text[600];
	const char *foreign = strstr(q->name, "xn--") ? "; xn-- stands for a name in other letters" : "";
	snprintf(text, sizeof text,
	         "\nagentjail: the jail wants to connect to %s:%u, which is not on its list%s (%lu s to answer).\n", q->name,
	         q->port, foreign, a->timeout_ms / 1000);
	aj_buffer_text(&a->text, text);
	write_text(a);
}

/* Choose a number that the last question did not have. */
static bool choose_number(struct aj_asker *a)
{
	unsigned random;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return false;
	a->number = a->number ? FIRST_NUMBER + (a->number - FIRST_NUMBER + 1 + random % (NUMBERS - 1)) % NUMBERS
	                      : FIRST_NUMBER + random % NUMBERS;
	return true;
}

void aj_asker_flushed(struct aj_asker *a)
{
	if (!a || !a->paused || a->flushed)
		return;
	a->flushed = true;
	if (a->shown)
		print_question(a);
}

/* --- keys --- */

/* `line`: without its end. */
static bool is_answer(const struct aj_asker *a, const char *line, enum aj_egress_verdict *ret)
{
	static const struct {
		const char *word;
		enum aj_egress_verdict verdict;
	} words[] = {
		{ "once", AJ_EGRESS_ONCE },
		{ "run", AJ_EGRESS_RUN },
		{ "deny", AJ_EGRESS_DENY },
		{ "no", AJ_EGRESS_DENY },
	};
	char full[32];
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		snprintf(full, sizeof full, "%s %u", words[i].word, a->number);
		*ret = words[i].verdict;
		if (strcmp(line, full) == 0 || (*ret == AJ_EGRESS_DENY && strcmp(line, words[i].word) == 0))
			return true;
	}
	return false;
}

static void read_line(struct aj_asker *a)
{
	enum aj_egress_verdict verdict;
	ssize_t n = read(a->whom.fd, a->line + a->bytes, sizeof a->line - 1 - a->bytes);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	a->bytes += n > 0 ? (size_t)n : 0;
	bool ended = n <= 0 || a->bytes == sizeof a->line - 1;
	if (!ended && !strchr("\r\n", a->line[a->bytes - 1])) /* the terminal passes on keys and not lines */
		return;
	while (a->bytes && strchr(" \t\r\n", a->line[a->bytes - 1]))
		a->bytes--;
	a->line[a->bytes] = '\0';
	a->bytes = 0;
	if (!ended && is_answer(a, a->line, &verdict)) {
		a->typed = true;
		aj_asked_end(a->shown, verdict, not_listed);
	} else if (!ended && ++a->tries < TRIES) {
		put_words(a);
		write_text(a);
	} else {
		aj_asked_end(a->shown, AJ_EGRESS_DENY,
		             "this name and port are not on the jail's list, and the typed line is not a valid answer");
	}
}

static void on_terminal(struct aj_io *io, uint32_t events)
{
	struct aj_asker *a = io->arg;
	(void)events;
	if (!is_foreground(a)) /* the terminal's keys go to another program */
		aj_asked_end(a->shown, AJ_EGRESS_DENY, nobody);
	else if (a->text.bytes)
		write_text(a);
	else
		read_line(a);
}

/* --- one after the other --- */

static bool show_question(struct aj_asked *q)
{
	struct aj_asker *a = q->asker;
	if (!is_foreground(a) || !choose_number(a))
		return false;
	a->io.fn = on_terminal;
	a->io.arg = a;
	a->shown = q;
	a->tries = 0;
	a->bytes = 0;
	a->typed = a->posed = false;
	if (!a->pause || a->flushed) {
		print_question(a);
	} else if (!a->paused) {
		a->paused = true;
		a->pause(a->pause_arg, true); /* aj_asker_flushed() follows, now or later */
	}
	return true;
}

/* The oldest question that waits. */
static struct aj_asked *find_next(struct aj_asker *a, const struct aj_asked *ended)
{
	struct aj_asked *next = NULL;
	for (size_t i = 0; i < AJ_ASK_OPEN_MAX && !a->ended; i++)
		if (a->open[i].asker && &a->open[i] != ended && (!next || a->open[i].id < next->id))
			next = &a->open[i];
	return next;
}

static void drop_question(struct aj_asked *q)
{
	static const char no_answer[] = "\nagentjail: no answer: denied\n";
	struct aj_asker *a = q->asker;
	struct aj_asked *next;
	if (a->shown != q)
		return;
	a->shown = NULL;
	aj_loop_unwatch(a->loop, &a->io);
	aj_buffer_free(&a->text);
	if (a->posed && !a->typed) {
		if (is_foreground(a))
			tcflush(a->whom.fd, TCIFLUSH);                          /* half an answer is no input of the jail's */
		ssize_t n = write(a->whom.fd, no_answer, sizeof no_answer - 1); /* a terminal that is stuck does not show it */
		(void)n;
	}
	while ((next = find_next(a, q)) && !show_question(next))
		aj_asked_end(next, AJ_EGRESS_DENY, nobody);
	if (!next && a->paused) {
		a->paused = a->flushed = false;
		a->pause(a->pause_arg, false);
	}
}

static bool put_question(struct aj_asked *q)
{
	return q->asker->shown || show_question(q); /* the next one follows the one that is shown */
}

static void close_way(struct aj_asker *a)
{
	aj_loop_unwatch(a->loop, &a->io);
	aj_buffer_free(&a->text);
	aj_close(&a->whom.fd);
}

const struct aj_ask_way aj_ask_by_terminal = { nobody, put_question, drop_question, close_way };

/* --- where the jail's output goes --- */

/* Whether a program reads this output from a pipe or a socket: it may show the output on this terminal at any time. */
static bool is_read_by_a_program(int fd, const struct stat *st)
{
	struct stat null;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || isatty(fd) || S_ISREG(st->st_mode))
		return false;
	return !S_ISCHR(st->st_mode) || stat("/dev/null", &null) < 0 || st->st_rdev != null.st_rdev;
}

int aj_ask_check_output(const struct aj_plan *plan, struct aj_error *err)
{
	static const char *const names[] = { "input", "output", "error" };
	for (int fd = 0; fd <= 2; fd++) {
		struct stat st;
		if (fstat(fd, &st) < 0)
			continue;
		if (isatty(fd) && plan->escapes == AJ_ESCAPES_ALL)
			aj_fail(err, AJ_EXIT_USAGE, "ask", 0,
			        "terminal.escapes is \"all\": the command could change what a question at the terminal looks like");
		else if (is_read_by_a_program(fd, &st))
			aj_fail(err, AJ_EXIT_USAGE, "ask", 0,
			        "standard %s is a %s, and the program behind it may show the command's output on this terminal: the command could hide or forge a question",
			        names[fd],
			        S_ISSOCK(st.st_mode)   ? "socket"
			        : S_ISFIFO(st.st_mode) ? "pipe"
			                               : "device");
		else
			continue;
		aj_advise(err,
		          plan->escapes == AJ_ESCAPES_ALL && isatty(fd)
		              ? "set terminal.escapes to \"filtered\", or use --network-ask-command or --network-ask-fd"
		              : "send the output to a file or to the terminal, or use --network-ask-command or --network-ask-fd");
		return -1;
	}
	return 0;
}
