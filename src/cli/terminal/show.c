/* Prints a result for people: output as it arrived, then the value or the error.
 * It writes no text of a jail to a terminal without making its control characters visible. */
#include "cli/terminal/show.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/terminal/findings.h"

void aj_show_init(struct aj_show *show, const struct aj_plan *plan)
{
	*show = (struct aj_show){ .plan = plan };
	struct stat st[3];
	for (int fd = 0; fd <= 2; fd++) {
		show->screens[fd] = (struct aj_screen){ .fd = -1 };
		show->screen_of[fd] = fd;
		show->terminal[fd] = fd && isatty(fd) && fstat(fd, &st[fd]) == 0;
	}
	if (show->terminal[1] && show->terminal[2] && st[1].st_dev == st[2].st_dev && st[1].st_ino == st[2].st_ino)
		show->screen_of[2] = 1;
	for (int fd = 1; fd <= 2; fd++)
		if (show->terminal[fd] && show->screen_of[fd] == fd)
			aj_screen_open(&show->screens[fd], fd);
}

bool aj_show_flush(struct aj_show *show, int *ret_fd)
{
	for (int fd = 1; fd <= 2; fd++)
		if (show->screens[fd].fd >= 0 && !aj_screen_flush(&show->screens[fd])) {
			*ret_fd = show->screens[fd].fd;
			return false;
		}
	return true;
}

void aj_show_close(struct aj_show *show)
{
	for (int fd = 1; fd <= 2; fd++)
		aj_screen_close(&show->screens[fd]);
}

static void put_bytes(struct aj_show *show, int fd, const char *data, size_t bytes)
{
	struct aj_screen *screen = &show->screens[show->screen_of[fd]];
	char *safe = show->terminal[fd] ? malloc(bytes * 4 + 1) : NULL;
	const char *text = safe ? safe : data;
	if (bytes)
		show->last = data[bytes - 1];
	if (safe)
		bytes = aj_printable(safe, data, bytes);
	if (screen->fd >= 0 && show->watching)
		aj_screen_put(screen, text, bytes);
	else if (screen->fd >= 0)
		show->failed |= aj_screen_finish(screen, fd) < 0 || aj_write_all(fd, text, bytes) < 0;
	else
		show->failed |= aj_write_all(fd, text, bytes) < 0;
	free(safe);
}

void aj_show_stream(int fd, const char *data, size_t bytes, void *arg)
{
	struct aj_show *show = arg;
	char *all = malloc(bytes + sizeof show->tail[fd]);
	size_t have = show->tail_bytes[fd];
	if (!all)
		abort();
	memcpy(all, show->tail[fd], have);
	memcpy(all + have, data, bytes);
	have += bytes;
	show->tail_bytes[fd] = aj_utf8_incomplete_tail(all, have);
	have -= show->tail_bytes[fd];
	memcpy(show->tail[fd], all + have, show->tail_bytes[fd]);
	put_bytes(show, fd, all, have);
	free(all);
}

void aj_show_stream_end(struct aj_show *show)
{
	for (int fd = 1; fd <= 2; fd++) {
		put_bytes(show, fd, show->tail[fd], show->tail_bytes[fd]);
		show->tail_bytes[fd] = 0;
	}
}

static void put_text(struct aj_show *show, int fd, const char *text)
{
	put_bytes(show, fd, text, strlen(text));
}

void aj_show_output(int fd, const char *data, size_t bytes, void *arg)
{
	struct aj_show *show = arg;
	uint64_t head = show->plan->capture_bytes / 2;
	uint64_t room = show->shown[fd] < head ? head - show->shown[fd] : 0;
	if (bytes > room)
		bytes = (size_t)room;
	/* A terminal may be stopped between poll() and write(), and takes less than a pipe: the bytes that it does not take are
	 * kept, up to the head. */
	show->watching = true;
	if (show->screens[show->screen_of[fd]].fd >= 0) {
		put_bytes(show, fd, data, bytes);
		show->shown[fd] += bytes;
		bytes = 0;
	}
	while (bytes && !show->stalled[fd]) {
		/* A pipe that is ready takes this much without blocking, also when control characters grow fourfold. */
		size_t piece = bytes < PIPE_BUF / 4 ? bytes : PIPE_BUF / 4;
		struct pollfd ready = { .fd = fd, .events = POLLOUT };
		show->stalled[fd] = poll(&ready, 1, 0) != 1;
		if (show->stalled[fd])
			break;
		put_bytes(show, fd, data, piece);
		show->shown[fd] += piece;
		data += piece;
		bytes -= piece;
	}
	show->watching = false;
}

static void put_rest(struct aj_show *show, int fd, const struct aj_output_buffer *capture)
{
	size_t bytes = 0;
	char *text = capture->total_bytes > show->shown[fd] ? aj_output_buffer_text(capture, &bytes) : NULL;
	if (text && bytes > show->shown[fd])
		put_bytes(show, fd, text + show->shown[fd], bytes - show->shown[fd]);
	free(text);
}

#define FRAME "  File \"" /* how a traceback begins a frame */

static void put_hint(struct aj_show *show, const json_t *error)
{
	const char *hint = json_string_value(json_object_get(error, "hint"));
	if (hint) {
		put_text(show, 2, "  hint: ");
		put_text(show, 2, hint);
		put_text(show, 2, "\n");
	}
}

static void put_error(struct aj_show *show, const json_t *error)
{
	const char *traceback = json_string_value(json_object_get(error, "traceback"));
	if (show->tracebacks && traceback && *traceback) {
		put_text(show, 2, traceback);
		put_hint(show, error);
		return;
	}
	const char *type = json_string_value(json_object_get(error, "type"));
	const char *message = json_string_value(json_object_get(error, "message"));
	const char *source = json_string_value(json_object_get(error, "source"));
	json_int_t line = json_integer_value(json_object_get(error, "line"));
	json_int_t column = json_integer_value(json_object_get(error, "column"));
	char at[64] = "";
	if (line)
		snprintf(at, sizeof at, "line %lld, column %lld: ", (long long)line, (long long)column);
	put_text(show, 2, at);
	put_text(show, 2, type ? type : "error");
	put_text(show, 2, ": ");
	put_text(show, 2, message ? message : "");
	put_text(show, 2, "\n");
	if (source && line) {
		put_text(show, 2, "    ");
		put_text(show, 2, source);
		put_text(show, 2, "\n");
		if (column > 0 && column < 400)
			fprintf(stderr, "    %*s\n", (int)column, "^");
	}
	put_hint(show, error);
	/* The place above is the innermost frame: a traceback with another one has more to say. */
	const char *frame = traceback ? strstr(traceback, FRAME) : NULL;
	if (frame && strstr(frame + strlen(FRAME), FRAME))
		put_text(show, 2, traceback);
}

void aj_show_result(struct aj_show *show, const struct aj_result *r)
{
	put_bytes(show, 1, "", 0); /* flush the kept output of both before the rest */
	put_bytes(show, 2, "", 0);
	put_rest(show, 1, &r->out);
	put_rest(show, 2, &r->err);
	if (r->status == AJ_STATUS_SETUP_ERROR)
		aj_print_error(&r->setup);
	else
		aj_show_claim(show, r->claim, r->status, r->reason);
}

/* The text of display() and of figures; that of the last value is not repeated. */
static void put_bundles(struct aj_show *show, const json_t *bundles, const char *repr)
{
	size_t i;
	json_t *one;
	json_array_foreach(bundles, i, one) {
		const char *text = json_string_value(json_object_get(one, "text/plain"));
		if (!text || (repr && strcmp(text, repr) == 0))
			continue;
		put_text(show, 1, text);
		put_text(show, 1, "\n");
	}
}

void aj_show_claim(struct aj_show *show, const json_t *claim, enum aj_status status, const char *reason)
{
	bool ok = status == AJ_STATUS_OK;
	bool final = json_is_true(json_object_get(claim, "is_final"));
	const char *repr = json_string_value(json_object_get(claim, "repr"));
	const char *type = json_string_value(json_object_get(claim, "type"));
	put_bundles(show, json_object_get(claim, "results"), repr);
	if (ok && final) {
		char *answer = json_dumps(json_object_get(claim, "final_answer"), JSON_ENCODE_ANY | JSON_COMPACT);
		put_text(show, 1, "final answer: ");
		put_text(show, 1, answer ? answer : "null");
		put_text(show, 1, "\n");
		free(answer);
	} else if (ok && repr && type && strcmp(type, "NoneType") != 0) {
		put_text(show, 1, repr);
		put_text(show, 1, "\n");
	}
	json_t *errors = json_object_get(claim, "errors"), *one;
	size_t i;
	json_array_foreach(json_object_get(claim, "warnings"), i, one)
		put_error(show, one);
	if (ok)
		return;
	if (json_array_size(errors) > 0)
		json_array_foreach(errors, i, one)
			put_error(show, one);
	else if (json_is_object(json_object_get(claim, "error")))
		put_error(show, json_object_get(claim, "error"));
	/* Python's traceback of an exception, or of Ctrl-C, says it all. */
	if (show->tracebacks && (status == AJ_STATUS_ERROR || status == AJ_STATUS_SIGNAL) &&
	    json_string_length(json_object_get(json_object_get(claim, "error"), "traceback")) > 0)
		return;
	put_text(show, 2, "agentjail: ");
	put_text(show, 2, aj_status_name(status));
	put_text(show, 2, ": ");
	put_text(show, 2, reason);
	put_text(show, 2, "\n");
}

int aj_show_json(json_t *doc, FILE *to)
{
	FILE *out = to ? to : stdout;
	/* Plain ASCII to a terminal: some terminals interpret C1 control characters. */
	int r = json_dumpf(doc, out, JSON_COMPACT | (isatty(to ? fileno(to) : 1) ? JSON_ENSURE_ASCII : 0));
	json_decref(doc);
	putc('\n', out);
	return r < 0 || fflush(out) != 0 ? -1 : 0;
}
