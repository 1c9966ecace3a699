/* Replaces stdout and stderr by streams that escape control characters: callers need not escape names for the terminal. */
#include "cli/terminal/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

static struct guarded {
	FILE *stream; /* NULL: the descriptor is not a terminal */
	char tail[4]; /* an incomplete UTF-8 sequence */
	size_t tail_bytes;
	int fd;
} guards[] = { { .fd = 1 }, { .fd = 2 } };

static ssize_t write_shown(void *cookie, const char *data, size_t bytes)
{
	struct guarded *g = cookie;
	size_t have = g->tail_bytes + bytes;
	char *all = malloc(have + 1), *shown = malloc(4 * have + 1);
	if (!all || !shown)
		abort();
	memcpy(all, g->tail, g->tail_bytes);
	memcpy(all + g->tail_bytes, data, bytes);
	g->tail_bytes = aj_utf8_incomplete_tail(all, have);
	have -= g->tail_bytes;
	memcpy(g->tail, all + have, g->tail_bytes);
	int r = aj_write_all(g->fd, shown, aj_printable(shown, all, have));
	free(all);
	free(shown);
	return r < 0 ? 0 : (ssize_t)bytes; /* 0 stands for an error here */
}

/* Print incomplete sequences at the end. */
static void end_streams(void)
{
	for (struct guarded *g = guards; g < guards + sizeof guards / sizeof *guards; g++) {
		char shown[4 * sizeof g->tail];
		if (g->stream && fflush(g->stream) == 0 && g->tail_bytes)
			aj_write_all(g->fd, shown, aj_printable(shown, g->tail, g->tail_bytes));
		g->tail_bytes = 0;
	}
}

void aj_guard_streams(void)
{
	for (struct guarded *g = guards; g < guards + sizeof guards / sizeof *guards; g++) {
		if (!isatty(g->fd) || !(g->stream = fopencookie(g, "w", (cookie_io_functions_t){ .write = write_shown })))
			continue;
		setvbuf(g->stream, NULL, g->fd == 1 ? _IOLBF : _IONBF, BUFSIZ);
		*(g->fd == 1 ? &stdout : &stderr) = g->stream;
	}
	atexit(end_streams);
}

static const struct guarded *guard_of(const FILE *stream)
{
	for (struct guarded *g = guards; g < guards + sizeof guards / sizeof *guards; g++)
		if (g->stream && g->stream == stream)
			return g;
	return NULL;
}

FILE *aj_guard_unguarded(FILE *guarded)
{
	const struct guarded *g = guard_of(guarded);
	cleanup_fd int fd = g ? dup(g->fd) : -1;
	FILE *raw = fd < 0 ? NULL : fdopen(fd, "w");
	if (raw)
		aj_steal(&fd);
	return raw ? raw : guarded;
}

bool aj_colours_wanted(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
}

void aj_colour(FILE *out, enum aj_colour colour)
{
	static const char *const sequences[] = { [AJ_COLOUR_NONE] = "\033[0m",
		                                 [AJ_COLOUR_BAD] = "\033[1;31m",
		                                 [AJ_COLOUR_ADVICE] = "\033[32m",
		                                 [AJ_COLOUR_HEADING] = "\033[1m" };
	const struct guarded *g = guard_of(out);
	if (g && aj_colours_wanted() && fflush(out) == 0)
		aj_write_all(g->fd, sequences[colour], strlen(sequences[colour]));
}
