/* Drives houses and sessions to the end of each measured step, in one loop.
 * A result that is not what the snippet should give ends the measurement: what fails fast is not fast. */
#include "jails.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "floors.h"
#include "jail/result/result.h"

enum { MOMENT_US = 1000, RUNNING_US = 3000 };

static void turn(struct yard *y, int64_t until_us)
{
	aj_loop_charge_from_now(y->loop); /* as libagentjail does */
	if (aj_loop_turn(y->loop, until_us) < 0)
		die("the event loop fails");
}

static void idle(struct yard *y, int64_t us)
{
	for (int64_t until_us = aj_now_us() + us; aj_now_us() < until_us;)
		turn(y, until_us);
}

static void log_line(void *arg, const char *line)
{
	(void)arg;
	fprintf(stderr, "%s\n", line);
}

static void on_opened(struct aj_session *s, void *arg, const struct aj_error *err)
{
	struct visit *v = arg;
	char text[900];
	(void)s;
	if (err)
		die("no jail: %s", aj_error_text(err, text, sizeof text));
	v->opened = true;
}

static void on_call(struct aj_session *s, void *arg, uint64_t call, const char *tool, const json_t *args)
{
	struct visit *v = arg;
	struct aj_error err = { 0 };
	json_t *value = json_integer(json_integer_value(json_object_get(args, "a")) + 1);
	(void)tool;
	if (aj_session_tool_value(s, call, value, &err) < 0)
		die("the tool's value is refused: %s", err.cause);
	json_decref(value);
	v->calls++;
}

static void check(const struct aj_result *found, const struct aj_buffer *text)
{
	static const char interrupted[] = "\"type\":\"KeyboardInterrupt\"";
	if (found->status != AJ_STATUS_OK && !memmem(text->data, text->bytes, interrupted, strlen(interrupted)))
		die("a snippet fails: %.*s", (int)text->bytes, text->data);
}

static void on_answered(struct aj_session *s, void *arg, const struct aj_result *found, struct aj_buffer *result)
{
	struct visit *v = arg;
	(void)s;
	v->answered_us = now_us();
	v->answered = true;
	check(found, result);
}

static void on_ended(struct aj_session *s, void *arg, const char *why)
{
	(void)s, (void)arg;
	die("a jail ended: %s", why);
}

static const struct aj_session_events events = { .opened = on_opened, .call = on_call, .answered = on_answered, .ended = on_ended };

void yard_open(struct yard *y, const char *policy, unsigned depth)
{
	struct aj_error err = { 0 };
	char text[900];
	*y = (struct yard){ .loop = aj_loop_new(), .ask = { .name = policy }, .depth = depth };
	struct aj_manager_config config = { .parked = depth, .log = log_line };
	y->manager = aj_manager_new(y->loop, &config, &err);
	if (!y->manager || aj_manager_add_policy(y->manager, &y->ask, NULL, &err) < 0)
		die("no house: %s", aj_error_text(&err, text, sizeof text));
	struct visit first;
	visit_begin(&first, y); /* a pool begins with who asks for it first */
	visit_await_open(&first, y);
	visit_end(&first);
	yard_settle(y);
}

void yard_rest(struct yard *y)
{
	idle(y, 200 * MOMENT_US);
}

void yard_close(struct yard *y)
{
	yard_rest(y);
	aj_manager_free(y->manager);
	aj_loop_free(y->loop);
}

static bool settled(const struct yard *y)
{
	struct aj_manager_counts now;
	aj_manager_count(y->manager, &now);
	return now.parked == y->depth && now.starting == 0;
}

void yard_settle(struct yard *y)
{
	while (!settled(y))
		idle(y, MOMENT_US);
	idle(y, MOMENT_US);
}

char **yard_modules(const char *policy)
{
	struct aj_ask ask = { .name = policy };
	struct aj_arena arena = { 0 };
	struct aj_diags diags = { .arena = &arena };
	struct aj_site site;
	struct aj_loaded loaded;
	if (aj_site_load(&site, NULL, &diags) < 0 || aj_policy_load(&loaded, &site, &ask, &diags) < 0)
		die("the policy `%s` does not load", policy);
	char **modules = calloc(loaded.policy.imports.count + 1, sizeof *modules);
	for (size_t i = 0; modules && i < loaded.policy.imports.count; i++)
		modules[i] = strdup(loaded.policy.imports.items[i]);
	aj_arena_free(&arena);
	return modules;
}

static void begin(struct visit *v, struct yard *y, bool branching)
{
	struct aj_error err = { 0 };
	*v = (struct visit){ 0 };
	v->session = aj_session_open(y->manager, &(struct aj_session_params){ .branching = branching }, &events, v, &err);
	if (!v->session)
		die("no session: %s", err.cause);
}

void visit_begin(struct visit *v, struct yard *y)
{
	begin(v, y, false);
}

void visit_begin_branching(struct visit *v, struct yard *y)
{
	begin(v, y, true);
}

void visit_await_open(struct visit *v, struct yard *y)
{
	while (!v->opened)
		turn(y, INT64_MAX);
}

void visit_end(struct visit *v)
{
	aj_session_close(v->session);
	v->session = NULL;
}

void visit_tool(struct visit *v)
{
	struct aj_error err = { 0 };
	json_t *list = json_loads("[{\"name\":\"tool\",\"description\":\"One more.\",\"parameters\":{\"type\":\"object\",\"properties\":"
	                          "{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]},\"returns\":{\"type\":\"integer\"}}]",
	                          0, NULL);
	if (aj_session_tools(v->session, list, &err) < 0)
		die("no tool: %s", err.cause);
	json_decref(list);
}

static void run(struct visit *v, const char *code, bool last)
{
	struct aj_error err = { 0 };
	struct aj_snippet snippet = { .code = code, .code_bytes = strlen(code), .last = last };
	v->answered = false;
	if (aj_session_run(v->session, &snippet, &err) < 0)
		die("no run: %s", err.cause);
}

static void await_answer(struct visit *v, struct yard *y)
{
	while (!v->answered)
		turn(y, INT64_MAX);
}

double visit_run(struct visit *v, struct yard *y, const char *code, bool last)
{
	double began = now_us();
	run(v, code, last);
	await_answer(v, y);
	return v->answered_us - began;
}

double visit_interrupt(struct visit *v, struct yard *y)
{
	run(v, "while True: pass", false);
	idle(y, RUNNING_US);
	double began = now_us();
	aj_session_interrupt(v->session);
	await_answer(v, y);
	return v->answered_us - began;
}

double visit_fork(struct visit *v, struct yard *y)
{
	struct visit copy = { 0 };
	struct aj_error err = { 0 };
	double began = now_us();
	copy.session = aj_session_fork(v->session, &events, &copy, &err);
	if (!copy.session)
		die("no branch: %s", err.cause);
	visit_await_open(&copy, y);
	double us = now_us() - began;
	visit_end(&copy);
	return us;
}

double yard_hit(struct yard *y, const char *code)
{
	struct visit v;
	double began = now_us();
	visit_begin(&v, y);
	visit_await_open(&v, y);
	visit_run(&v, y, code, true);
	double us = v.answered_us - began;
	visit_end(&v);
	return us;
}

double yard_birth(struct yard *y)
{
	struct visit v;
	double began = now_us();
	visit_begin(&v, y);
	visit_await_open(&v, y);
	double us = now_us() - began;
	visit_end(&v);
	return us;
}

/* --- many clients in one loop --- */

struct client {
	struct visit visit;
	struct flow *flow;
};
struct flow {
	struct yard *yard;
	double until_us, last_us;
	long answered;
	int running;
};

static void begin_client(struct client *c);

static void on_client_opened(struct aj_session *s, void *arg, const struct aj_error *err)
{
	struct client *c = arg;
	on_opened(s, &c->visit, err);
	run(&c->visit, "2+2", true);
}

static void on_client_answered(struct aj_session *s, void *arg, const struct aj_result *found, struct aj_buffer *result)
{
	struct client *c = arg;
	struct flow *f = c->flow;
	check(found, result);
	aj_session_close(s);
	double now = now_us();
	if (now > f->until_us) {
		f->running--;
		return;
	}
	f->answered++;
	f->last_us = now;
	begin_client(c);
}

static void begin_client(struct client *c)
{
	static const struct aj_session_events own = { .opened = on_client_opened, .answered = on_client_answered, .ended = on_ended };
	struct aj_error err = { 0 };
	c->visit.session = aj_session_open(c->flow->yard->manager, &(struct aj_session_params){ 0 }, &own, c, &err);
	if (!c->visit.session)
		die("no session: %s", err.cause);
}

double yard_flow(struct yard *y, int count, double us)
{
	struct client *clients = calloc((size_t)count, sizeof *clients);
	double began = now_us();
	struct flow flow = { .yard = y, .until_us = began + us, .running = count };
	for (int i = 0; clients && i < count; i++) {
		clients[i].flow = &flow;
		begin_client(&clients[i]);
	}
	while (flow.running > 0)
		turn(y, INT64_MAX);
	free(clients);
	return flow.last_us > began ? (double)flow.answered / (flow.last_us - began) * 1e6 : 0;
}
