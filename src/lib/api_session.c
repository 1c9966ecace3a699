/* The session manager's sessions as callers open, await and close them.
 * Runs no snippet (api_snippet.c does), and passes on only events that the session manager has checked. */
#include <stdlib.h>
#include <string.h>

#include "lib/api_inner.h"

enum aj_session_state aj_lib_state(const agentjail_session *s)
{
	return s->inner ? aj_session_state(s->inner) : AJ_SESSION_CLOSED;
}

bool aj_lib_is_open(const agentjail_session *s)
{
	return aj_lib_state(s) > AJ_SESSION_OPENING;
}

bool aj_lib_branching(const agentjail_session *s)
{
	return aj_lib_state(s) == AJ_SESSION_COPYING || aj_lib_state(s) == AJ_SESSION_ROLLING;
}

static void on_opened(struct aj_session *inner, void *arg, const struct aj_error *err)
{
	agentjail_session *s = arg;
	(void)inner;
	if (err)
		s->open_error = *err;
	if (s->asked)
		aj_lib_run_begin(s);
}

static void on_output(struct aj_session *inner, void *arg, int number, const char *data, size_t bytes)
{
	agentjail_session *s = arg;
	(void)inner;
	if (!s->output)
		return;
	struct aj_loop_clocks begin = aj_loop_host_begins();
	s->handle->in_callback = true;
	s->output(s->output_arg, number, data, bytes);
	s->handle->in_callback = false;
	aj_loop_host_ends(s->handle->loop, begin);
}

static void on_answered(struct aj_session *inner, void *arg, const struct aj_result *result, struct aj_buffer *text)
{
	(void)inner;
	aj_lib_run_finish(arg, aj_lib_result(result, text), NULL);
}

static void on_ended(struct aj_session *inner, void *arg, const char *why)
{
	agentjail_session *s = arg;
	(void)inner;
	strncpy(s->why, why, sizeof s->why - 1);
}

static void on_branched(struct aj_session *inner, void *arg, uint64_t id, const struct aj_error *err)
{
	agentjail_session *s = arg;
	(void)inner, (void)id;
	if (err)
		s->branch_error = *err;
}

static const struct aj_session_events events = { .opened = on_opened,
	                                         .output = on_output,
	                                         .call = aj_lib_tools_on_call,
	                                         .answered = on_answered,
	                                         .ended = on_ended,
	                                         .checkpointed = on_branched,
	                                         .rolled_back = on_branched };

static agentjail_session *new_session(agentjail *h, const struct aj_lib_tools *tools)
{
	agentjail_session *s = calloc(1, sizeof *s);
	if (!s)
		abort();
	s->handle = h;
	STAILQ_INIT(&s->calls);
	aj_lib_tools_copy(&s->tools, tools);
	LIST_INSERT_HEAD(&h->sessions, s, listed);
	return s;
}

int aj_lib_take_python(struct aj_python_ask *ret, const struct agentjail_python *theirs, struct aj_error *err)
{
	struct agentjail_python p;
	if (!theirs)
		return 0;
	if (aj_lib_take(&p, sizeof p, theirs, "agentjail_python", err) < 0)
		return -1;
	bool off = p.layer && strcmp(p.layer, "off") == 0;
	if (p.layer && !off && strcmp(p.layer, "on") != 0)
		return aj_fail(err, AJ_EXIT_USAGE, "layer", 0, "`%.100s`: not one of on, off", p.layer);
	*ret = (struct aj_python_ask){ .imports = p.imports,
		                       .imports_checked = p.imports_checked,
		                       .builtins = p.builtins,
		                       .clock = p.clock,
		                       .sleep_max = p.sleep_max,
		                       .layer = !p.layer ? NULL
		                              : off      ? "false"
		                                         : "true" };
	while (p.imports && p.imports[ret->imports_count])
		ret->imports_count++;
	return 0;
}

agentjail_session *aj_lib_session_open(agentjail *h, const struct aj_session_params *asked, struct aj_error *err)
{
	struct aj_session_params place = *asked;
	place.tenant = h->tenant;
	place.workspace = asked->workspace ? asked->workspace : h->workspace;
	agentjail_session *s = new_session(h, &h->tools);
	s->inner = aj_session_open(h->manager, &place, &events, s, err);
	if (s->inner && aj_lib_tools_declare(&s->tools, s->inner, err) == 0)
		return s;
	if (s->inner)
		aj_session_close(s->inner);
	aj_lib_session_free(s);
	return NULL;
}

/* aj_session_fork() has copied the tools already. */
agentjail_session *aj_lib_session_fork(agentjail_session *of, struct aj_error *err)
{
	agentjail_session *s = new_session(of->handle, &of->tools);
	s->inner = aj_session_fork(of->inner, &events, s, err);
	if (s->inner)
		return s;
	aj_lib_session_free(s);
	return NULL;
}

/* Ends the jail now; a run that waits further down the stack gets the error once control is back there. */
static void end_session(agentjail_session *s)
{
	struct aj_error err = { 0 };
	aj_session_close(s->inner);
	s->inner = NULL;
	aj_fail_because(&err, AJ_REASON_CLOSED, AJ_EXIT_USAGE, "session", 0, "it was closed while the snippet ran");
	if (s->asked)
		aj_lib_run_finish(s, NULL, &err);
	aj_lib_calls_drop(s);
}

void agentjail_session_close(agentjail_session *s)
{
	struct aj_error err = { 0 };
	if (!s || aj_lib_enter(s->handle, &err) < 0 || !s->inner)
		return;
	end_session(s);
	if (!s->entered)
		aj_lib_session_free(s);
}

static bool is_opening(const agentjail_session *s)
{
	return !aj_lib_is_open(s);
}

int aj_lib_session_await(agentjail_session *s, struct aj_error *err)
{
	aj_lib_await(s, is_opening, err);
	if (!err->exit_code)
		*err = s->open_error;
	if (!err->exit_code && s->why[0])
		aj_fail_because(err, AJ_REASON_CLOSED, AJ_EXIT_SETUP, "session", 0, "it has ended: %s", s->why);
	if (!err->exit_code)
		return 0;
	agentjail_session_close(s);
	return -1;
}

agentjail_session *agentjail_session_open(agentjail *h, const struct agentjail_session_options *options,
                                          struct agentjail_error *ret_err)
{
	struct agentjail_session_options o = { 0 };
	struct aj_error err = { 0 };
	struct aj_session_params place = { 0 };
	agentjail_session *s = NULL;
	if (aj_lib_enter(h, &err) == 0 &&
	    (!options || aj_lib_take(&o, sizeof o, options, "agentjail_session_options", &err) == 0) &&
	    aj_lib_take_python(&place.python, o.python, &err) == 0) {
		place.workspace = o.workspace;
		place.branching = o.branching;
		s = aj_lib_session_open(h, &place, &err);
	}
	if (s && !o.no_wait && aj_lib_session_await(s, &err) < 0)
		s = NULL;
	if (!s)
		aj_lib_refuse(&err, ret_err);
	return s;
}

int agentjail_session_alive(const agentjail_session *s)
{
	return aj_lib_state(s) < AJ_SESSION_ENDED;
}
