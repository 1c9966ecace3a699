/* Sessions of a house at somebody's command: one JSON object a line on stdin, what happens a line each on stdout.
 * For tests that look at jails from outside while they live; it judges nothing.
 *
 *   sessions POLICY PARKED [READY_MS]
 *                               {"do":"open","as":NAME,"tenant":TEXT,"tools":[...]}   {"do":"run","as":NAME,"code":TEXT,"timeout_ms":N}
 *                               {"do":"value","as":NAME,"call":N,"value":ANY}         {"do":"close","as":NAME}
 *                               {"do":"interrupt","as":NAME}                          {"do":"stats"}
 *                               {"do":"fork","as":NAME,"to":NAME}, of one that was opened with "branching":true
 * At the end of stdin everything is ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"
#include "session/manager.h"

enum { SEATS = 4096, LINE_BYTES = 4 << 20 };

struct seat {
	char name[32];
	struct aj_session *session;
};

static struct seat seats[SEATS];
static struct aj_loop *loop;
static struct aj_manager *manager;
static char line[LINE_BYTES];
static size_t have;
static bool over;

/* Steals `event`. */
static void say(json_t *event)
{
	json_dumpf(event, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(event);
}

static void complain(const char *as, const char *about, const struct aj_error *err)
{
	char text[900];
	say(json_pack("{s:s, s:s, s:s, s:s}", "event", "error", "as", as, "about", about, "text", aj_error_text(err, text, sizeof text)));
}

static void on_opened(struct aj_session *session, void *arg, const struct aj_error *err)
{
	struct seat *seat = arg;
	char text[900];
	say(json_pack("{s:s, s:s, s:b, s:s*}", "event", "opened", "as", seat->name, "warm", aj_session_warm(session), "error",
	              err ? aj_error_text(err, text, sizeof text) : NULL));
}

static void on_call(struct aj_session *session, void *arg, uint64_t call, const char *tool, const json_t *args)
{
	struct seat *seat = arg;
	(void)session;
	say(json_pack("{s:s, s:s, s:I, s:s, s:O}", "event", "call", "as", seat->name, "call", (json_int_t)call, "tool", tool,
	              "args", args));
}

static void on_answered(struct aj_session *session, void *arg, const struct aj_result *result, const json_t *doc)
{
	struct seat *seat = arg;
	(void)session, (void)result;
	say(json_pack("{s:s, s:s, s:O}", "event", "answered", "as", seat->name, "result", doc));
}

static void on_ended(struct aj_session *session, void *arg, const char *why)
{
	struct seat *seat = arg;
	(void)session;
	say(json_pack("{s:s, s:s, s:s}", "event", "ended", "as", seat->name, "why", why));
}

static struct seat *find(const char *name)
{
	for (size_t i = 0; i < SEATS; i++)
		if (seats[i].session && strcmp(seats[i].name, name) == 0)
			return &seats[i];
	return NULL;
}

/* `of`: it is a fork of that one; else NULL. */
static void open_seat(const char *as, const struct seat *of, json_t *order, struct aj_error *err)
{
	static const struct aj_session_events events = { .opened = on_opened, .call = on_call, .answered = on_answered, .ended = on_ended };
	struct aj_session_params place = { .tenant = json_string_value(json_object_get(order, "tenant")),
		                           .branching = json_is_true(json_object_get(order, "branching")) };
	struct seat *seat = seats;
	json_t *tools = json_object_get(order, "tools");
	while (seat < seats + SEATS && seat->session)
		seat++;
	if (seat == seats + SEATS || strlen(as) >= sizeof seat->name)
		exit(2);
	strcpy(seat->name, as);
	seat->session = of ? aj_session_fork(of->session, &events, seat, err) : aj_session_open(manager, &place, &events, seat, err);
	if (seat->session && tools)
		aj_session_tools(seat->session, tools, err);
}

static void obey(json_t *order)
{
	struct aj_error err = { 0 };
	const char *verb = json_string_value(json_object_get(order, "do")), *as = json_string_value(json_object_get(order, "as"));
	struct seat *seat = as ? find(as) : NULL;
	json_t *code = json_object_get(order, "code"), *timeout = json_object_get(order, "timeout_ms");
	if (!verb)
		exit(2);
	if (strcmp(verb, "stats") == 0)
		say(json_pack("{s:s, s:o}", "event", "stats", "stats", aj_manager_stats(manager)));
	else if (strcmp(verb, "open") == 0)
		open_seat(as ? as : "", NULL, order, &err);
	else if (!seat)
		aj_fail(&err, AJ_EXIT_USAGE, "seat", 0, "nobody is called so");
	else if (strcmp(verb, "run") == 0)
		aj_session_run(seat->session,
		               &(struct aj_snippet){ .code = json_string_value(code),
		                                     .code_bytes = json_string_length(code),
		                                     .timeout_ms = (uint64_t)json_integer_value(timeout) },
		               &err);
	else if (strcmp(verb, "value") == 0)
		aj_session_tool_value(seat->session, (uint64_t)json_integer_value(json_object_get(order, "call")),
		                      json_object_get(order, "value"), &err);
	else if (strcmp(verb, "fork") == 0)
		open_seat(json_string_value(json_object_get(order, "to")), seat, order, &err);
	else if (strcmp(verb, "interrupt") == 0)
		aj_session_interrupt(seat->session);
	else if (strcmp(verb, "close") == 0) {
		aj_session_close(seat->session);
		seat->session = NULL;
		say(json_pack("{s:s, s:s}", "event", "closed", "as", as));
	}
	if (err.exit_code)
		complain(as ? as : "", verb, &err);
}

static void on_input(struct aj_io *io, uint32_t events)
{
	(void)events;
	ssize_t n = read(io->fd, line + have, sizeof line - have);
	if (n <= 0) {
		over = true;
		return;
	}
	have += (size_t)n;
	for (char *end; (end = memchr(line, '\n', have));) {
		json_t *order = json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL, NULL);
		obey(order);
		json_decref(order);
		have -= (size_t)(end + 1 - line);
		memmove(line, end + 1, have);
	}
}

static void on_log(void *arg, const char *text)
{
	(void)arg;
	say(json_pack("{s:s, s:s}", "event", "log", "text", text));
}

int main(int argc, char **argv)
{
	struct aj_error err = { 0 };
	struct aj_ask ask = { 0 };
	struct aj_io input = { .fn = on_input, .fd = -1 };
	if (argc < 3)
		return 2;
	if (strchr(argv[1], '/'))
		ask.file = argv[1];
	else
		ask.name = argv[1];
	struct aj_manager_config config = { .parked = (unsigned)atoi(argv[2]),
		                            .ready_ms = argc > 3 ? (unsigned)atoi(argv[3]) : 0,
		                            .log = on_log };
	if (!(loop = aj_loop_new()) || !(manager = aj_manager_new(loop, &config, &err)) ||
	    aj_manager_add_policy(manager, &ask, NULL, &err) < 0 || aj_loop_watch(loop, &input, 0, EPOLLIN) < 0) {
		complain("", "start", &err);
		return 1;
	}
	while (!over && aj_loop_turn(loop, INT64_MAX) == 0)
		;
	for (size_t i = 0; i < SEATS; i++)
		if (seats[i].session)
			aj_session_close(seats[i].session);
	aj_manager_free(manager);
	aj_loop_unwatch(loop, &input);
	aj_loop_free(loop);
	return 0;
}
