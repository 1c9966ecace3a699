/* Sessions that are branched, by a script on standard input: for the tests of branches, a line a step, a line of answer each.
 * branch POLICY.toml ROOTFS [plain], and then: open A | run A CODE (\n is a newline) | fork A B | checkpoint A | rollback A ID |
 * forget A ID | close A | pid A | children A | time N fork|checkpoint A | at-once A B | sleep MS. It judges nothing. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "session/session.h"

enum { MOST = 200 };

static struct aj_loop *loop;
static struct aj_manager *manager;
static bool plain;

struct one {
	char name[32];
	struct aj_session *session;
	bool done, ended;
	char said[8192];
} ones[MOST];

static void say(struct one *o, const char *what, const struct aj_error *err)
{
	char text[900];
	snprintf(o->said, sizeof o->said, "%s%s%s", what, err ? " error: " : "", err ? aj_error_text(err, text, sizeof text) : "");
	o->done = true;
}

static void on_opened(struct aj_session *s, void *arg, const struct aj_error *err)
{
	(void)s;
	say(arg, "opened", err);
}

static void on_answered(struct aj_session *s, void *arg, const struct aj_result *found, const json_t *result)
{
	struct one *o = arg;
	(void)s, (void)found;
	char *violations = json_dumps(json_object_get(result, "violations"), JSON_COMPACT | JSON_ENCODE_ANY);
	const char *error = json_string_value(json_object_get(json_object_get(result, "error"), "message"));
	snprintf(o->said, sizeof o->said, "%s %s|%s|%s|%s|%s", json_string_value(json_object_get(result, "status")),
	         json_string_value(json_object_get(result, "session")), json_string_value(json_object_get(result, "stdout")),
	         json_string_value(json_object_get(result, "reason")), violations, error ? error : "");
	free(violations);
	for (char *c = o->said; *c; c++)
		if (*c == '\n')
			*c = ' ';
	o->done = true;
}

static void on_ended(struct aj_session *s, void *arg, const char *why)
{
	struct one *o = arg;
	(void)s, (void)why;
	o->ended = true;
}

static void on_checkpoint(struct aj_session *s, void *arg, uint64_t id, const struct aj_error *err)
{
	char text[40];
	(void)s;
	snprintf(text, sizeof text, "checkpoint %lu", (unsigned long)id);
	say(arg, text, err);
}

static void on_back(struct aj_session *s, void *arg, uint64_t id, const struct aj_error *err)
{
	(void)s, (void)id;
	say(arg, "rolled back", err);
}

static const struct aj_session_events events = {
	.opened = on_opened, .answered = on_answered, .ended = on_ended, .checkpointed = on_checkpoint, .rolled_back = on_back
};

static struct one *named(const char *name)
{
	for (size_t i = 0; i < MOST; i++)
		if (strcmp(ones[i].name, name) == 0)
			return &ones[i];
	return NULL;
}

static struct one *make(const char *name)
{
	for (size_t i = 0; i < MOST; i++)
		if (!ones[i].name[0]) {
			snprintf(ones[i].name, sizeof ones[i].name, "%s", name);
			return &ones[i];
		}
	abort();
}

static void await(struct one *o)
{
	while (!o->done)
		aj_loop_turn(loop, INT64_MAX);
}

static void wait_until(int64_t until_us)
{
	while (aj_now_us() < until_us)
		aj_loop_turn(loop, until_us);
}

static void newlines(char *text)
{
	char *to = text;
	for (; *text; text++)
		*to++ = (char)(text[0] == '\\' && text[1] == 'n' ? (text++, '\n') : *text);
	*to = '\0';
}

/* False when it was refused at once, and `o` says why. */
static bool begin(struct one *o, const char *verb, char *rest, struct one *other)
{
	struct aj_error err = { 0 };
	struct aj_snippet snippet = { .code = rest };
	bool begun = false;
	o->done = false;
	if (strcmp(verb, "open") == 0) {
		begun = (o->session = aj_session_open(manager, &(struct aj_session_params){ .branching = !plain }, &events, o, &err));
	} else if (strcmp(verb, "fork") == 0) {
		begun = (other->session = aj_session_fork(o->session, &events, other, &err));
	} else if (strcmp(verb, "checkpoint") == 0) {
		begun = aj_session_checkpoint(o->session, &err);
	} else if (strcmp(verb, "rollback") == 0) {
		begun = aj_session_rollback(o->session, strtoul(rest, NULL, 10), &err) == 0;
	} else if (strcmp(verb, "forget") == 0) {
		begun = aj_session_forget(o->session, strtoul(rest, NULL, 10), &err) == 0;
		say(o, "forgotten", NULL);
	} else if (strcmp(verb, "run") == 0) {
		newlines(rest);
		snippet.code_bytes = strlen(rest);
		begun = aj_session_run(o->session, &snippet, &err) == 0;
	}
	if (!begun)
		say(other ? other : o, verb, &err);
	return begun;
}

static void measure(unsigned count, const char *verb, struct one *o)
{
	int64_t best_us = INT64_MAX, total_us = 0;
	for (unsigned i = 0; i < count; i++) {
		struct one other = { .name = "?" };
		bool forks = strcmp(verb, "fork") == 0;
		char id[24];
		int64_t start_us = aj_now_us();
		if (!begin(o, verb, NULL, forks ? &other : NULL)) {
			printf("time error: %s\n", forks ? other.said : o->said);
			return;
		}
		await(forks ? &other : o);
		int64_t us = aj_now_us() - start_us;
		best_us = us < best_us ? us : best_us;
		total_us += us;
		if (forks && strstr(other.said, "error"))
			printf("time %s\n", other.said);
		if (forks) {
			aj_session_close(other.session);
		} else {
			snprintf(id, sizeof id, "%s", o->said + strlen("checkpoint "));
			begin(o, "forget", id, NULL);
		}
		wait_until(aj_now_us() + 3000);
	}
	printf("time %s: best %ld us, mean %ld us\n", verb, (long)best_us, (long)(total_us / count));
}

static void step(char *line)
{
	char *save, *verb = strtok_r(line, " \n", &save), *name = strtok_r(NULL, " \n", &save), *rest = strtok_r(NULL, "\n", &save);
	if (!verb || verb[0] == '#')
		return;
	if (strcmp(verb, "sleep") == 0) {
		wait_until(aj_now_us() + (int64_t)strtoul(name, NULL, 10) * 1000);
		return;
	}
	if (strcmp(verb, "time") == 0) {
		char *what = strtok_r(rest, " ", &save), *who = strtok_r(NULL, " ", &save);
		measure((unsigned)strtoul(name, NULL, 10), what, named(who));
		return;
	}
	struct one *o = named(name), *other = NULL;
	if (strcmp(verb, "open") == 0)
		o = make(name);
	if (!o || (!o->session && strcmp(verb, "open") != 0)) {
		printf("%s %s: no such session\n", verb, name);
		return;
	}
	if (strcmp(verb, "close") == 0) {
		aj_session_close(o->session);
		memset(o, 0, sizeof *o);
		return;
	}
	if (strcmp(verb, "pid") == 0) {
		printf("pid %s: %d\n", name, o->session->worker ? o->session->worker->run.channel.runner : 0);
		return;
	}
	/* Both, and neither waits for the other. */
	if (strcmp(verb, "at-once") == 0) {
		struct one *b = named(strtok_r(rest, " ", &save)), *c = make("at-once-1"), *d = make("at-once-2");
		begin(o, "fork", NULL, c);
		begin(b, "fork", NULL, d);
		await(c);
		await(d);
		printf("at-once: %s, %s\n", c->said, d->said);
		return;
	}
	if (strcmp(verb, "fork") == 0)
		other = make(rest);
	if (begin(o, verb, rest, other))
		await(other ? other : o);
	printf("%s %s: %s\n", verb, name, other ? other->said : o->said);
}

static void log_line(void *arg, const char *line)
{
	(void)arg;
	printf("log: %s\n", line);
}

int main(int argc, char **argv)
{
	static char line[65536];
	struct aj_error err = { 0 };
	struct aj_ask ask = { .file = argv[1] };
	char text[900];
	if (argc < 3)
		return 2;
	plain = argc > 3 && strcmp(argv[3], "plain") == 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	struct aj_manager_config config = { .rootfs = argv[2], .parked = 1, .log = log_line };
	loop = aj_loop_new();
	manager = aj_manager_new(loop, &config, &err);
	if (!manager || aj_manager_add_policy(manager, &ask, NULL, &err) < 0) {
		printf("error: %s\n", aj_error_text(&err, text, sizeof text));
		return 1;
	}
	while (fgets(line, sizeof line, stdin))
		step(line);
	for (size_t i = 0; i < MOST; i++)
		if (ones[i].session)
			aj_session_close(ones[i].session);
	wait_until(aj_now_us() + 300000);
	struct aj_manager_counts left;
	aj_manager_count(manager, &left);
	printf("jails left: %lu\n", (unsigned long)left.jails);
	aj_manager_free(manager);
	aj_loop_free(loop);
	return 0;
}
