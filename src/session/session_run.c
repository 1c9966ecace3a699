/* One run of a session: the request for the jail, the records of the audit trail, and the report to the owner.
 * Runs never overlap, and a tool's answer is passed on only after calls.c has checked it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "jail/interrupt.h"
#include "session/session.h"

static const struct aj_policy *policy_of(const struct aj_session *s)
{
	return s->own ? &s->own->policy : s->jail->policy;
}

json_t *aj_session_constants(struct aj_session *s)
{
	struct aj_jail *jail = s->jail;
	jail->outcome.result.layer = s->own ? aj_plan_layer(&s->own->policy) : NULL;
	return json_pack("{s:o, s:o}", "enforced", aj_enforced_json(&jail->outcome.result, jail->built.plan), "policy",
	                 aj_policy_json(policy_of(s), NULL));
}

static void record_end(struct aj_session *s, struct aj_result *result)
{
	const struct aj_jail *jail = s->jail;
	struct aj_error err = { 0 };
	result->layer = s->own ? aj_plan_layer(&s->own->policy) : NULL;
	if (aj_trail_end(&s->trail, policy_of(s), &s->request, jail->built.plan, result, &err) < 0)
		aj_manager_log(s->pool->manager, "audit", &err);
}

/* Name the tool that the snippet was waiting for at the timeout: the jail's own figures do not show that time. */
static void name_awaited_tool(const struct aj_session *s, struct aj_result *result)
{
	const char *tool = result->status == AJ_STATUS_TIMEOUT ? aj_calls_awaited(&s->calls) : NULL;
	size_t at = strlen(result->reason);
	if (tool)
		snprintf(result->reason + at, sizeof result->reason - at, "; its call of the tool `%s` had not been answered",
		         tool);
}

bool aj_session_report(struct aj_session *s, bool alive)
{
	struct aj_collect *collect = aj_jail_collect(s->jail, &s->request);
	name_awaited_tool(s, &s->jail->outcome.result);
	aj_calls_drop(&s->calls);
	record_end(s, &s->jail->outcome.result);
	s->members = (struct aj_members){ 0 };
	aj_result_members(&s->members, &s->jail->outcome.result, s->jail->built.plan, policy_of(s), &s->request,
	                  s->own ? NULL : &s->pool->common);
	s->brief = s->jail->outcome.result;
	s->brief.claim = s->brief.workspace = s->brief.files = s->brief.files_skipped = NULL;
	s->brief.out = s->brief.err = (struct aj_output_buffer){ 0 };
	s->alive = alive;
	s->gone = false;
	return collect && !aj_session_collect(s, collect) ? true : aj_session_deliver(s);
}

bool aj_session_deliver(struct aj_session *s)
{
	struct aj_members *m = &s->members;
	bool alive = s->alive && !s->gone, gone = s->gone;
	if (s->request.lasting)
		aj_buffer_text(aj_member(m, "session"), alive ? "\"alive\"" : "\"ended\"");
	aj_member_json(m, "warm", json_boolean(s->jail->warm));
	aj_call_log_report(&s->calls.log, m);
	aj_session_add_files(s);
	aj_members_end(m);
	struct aj_buffer text = m->text;
	*m = (struct aj_members){ 0 };
	s->gone = false;
	s->state = alive ? AJ_SESSION_IDLE : AJ_SESSION_ENDED;
	if (alive)
		aj_session_used(s);
	aj_session_enter_callback(s);
	s->on.answered(s, s->arg, &s->brief, &text);
	aj_buffer_free(&text);
	bool open = aj_session_leave_callback(s);
	if (open && gone)
		aj_session_gone(s);
	return open;
}

int aj_session_tools(struct aj_session *s, const json_t *list, struct aj_error *err)
{
	if (aj_calls_declare(&s->calls, list, err) < 0)
		return -1;
	s->tools_changed = true;
	aj_session_used(s);
	return 0;
}

/* The start is in the trail already, so the trail needs an end. */
static void record_refusal(struct aj_session *s, const struct aj_error *err)
{
	struct aj_result refused = { .setup = *err };
	aj_sha256(s->request.snippet.code ? s->request.snippet.code : "", s->request.snippet.code_bytes, refused.code_sha256);
	aj_verdict(&(struct aj_facts){ 0 }, s->jail->built.plan, &refused);
	record_end(s, &refused);
}

int aj_session_run(struct aj_session *s, const struct aj_snippet *snippet, struct aj_error *err)
{
	if (!s->jail || s->jail->gone || s->jail->stopping)
		return aj_fail_because(err, AJ_REASON_CLOSED, AJ_EXIT_USAGE, "session", 0,
		                       s->state == AJ_SESSION_WAITING ? "the session has no jail yet" : "the session has ended");
	if (s->state == AJ_SESSION_RUNNING)
		return aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_USAGE, "busy", 0, "a snippet is running in this session");
	if (aj_session_is_branching(s))
		return aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_USAGE, "busy", 0, "the session is being branched");
	const struct aj_jail *jail = s->jail;
	aj_arena_free(&s->arena);
	if (snippet->code && snippet->code_bytes > jail->policy->source_bytes) {
		aj_fail_because(err, AJ_REASON_CODE, AJ_EXIT_REJECTED, "source", 0,
		                "the snippet has %zu bytes; the limit is %lu (python.source_size)", snippet->code_bytes,
		                jail->policy->source_bytes);
		aj_advise(err, "write a shorter snippet: pass data as inputs or files");
		return -1;
	}
	s->request = (struct aj_request){ .is_snippet = true,
		                          .lasting = !snippet->last,
		                          .id = snippet->id ? aj_strdup(&s->arena, snippet->id) : aj_trail_new_id(&s->arena),
		                          .snippet = *snippet,
		                          .command.terminal_fd = -1,
		                          .workspace = s->pool->workspace,
		                          .rootfs = s->pool->version->rootfs };
	struct aj_snippet *asked = &s->request.snippet;
	asked->code_bytes = asked->code ? asked->code_bytes : 0;
	asked->filename = asked->filename ? asked->filename : "<snippet>";
	char *put = NULL;
	if ((snippet->files || snippet->output_files) && !jail->built.plan->files)
		return aj_fail(err, AJ_EXIT_USAGE, "files", 0,
		               "the policy binds something at /tmp, /input or /output, so no files can be exchanged there");
	if (snippet->files && aj_session_put_json(snippet->files, &s->arena, &put, err) < 0)
		return -1;
	asked->put_json = put;
	char *tools = s->tools_changed ? aj_calls_tools(&s->calls) : NULL;
	asked->tools_json = tools;
	int r = aj_trail_start(&s->trail, &s->pool->version->site, policy_of(s), &s->request, jail->built.plan, err);
	if (r == 0 && (r = aj_jail_begin(s->jail, &s->request, aj_now_us(), err)) < 0)
		record_refusal(s, err);
	free(tools);
	free(put);
	aj_snippet_drop_texts(asked);
	if (r < 0)
		return -1;
	s->tools_changed = false;
	s->state = AJ_SESSION_RUNNING;
	aj_loop_unset(aj_session_loop(s), &s->idle);
	return 0;
}

const char *aj_session_new_id(struct aj_arena *arena)
{
	return aj_trail_new_id(arena);
}

void aj_session_interrupt(struct aj_session *s)
{
	if (s->state == AJ_SESSION_RUNNING)
		aj_interrupt_send(s->jail);
}

int aj_session_tool_value(struct aj_session *s, uint64_t call, const json_t *value, struct aj_error *err)
{
	return aj_calls_value(&s->calls, call, value, err);
}

int aj_session_tool_error(struct aj_session *s, uint64_t call, const char *type, const char *message, struct aj_error *err)
{
	return aj_calls_error(&s->calls, call, type, message, err);
}

void aj_session_record_cut(struct aj_session *s)
{
	struct aj_result cut = { .status = AJ_STATUS_SIGNAL, .exit_code = -1 };
	snprintf(cut.reason, sizeof cut.reason, "the session was closed while the snippet ran");
	memcpy(cut.code_sha256, s->jail->outcome.result.code_sha256, sizeof cut.code_sha256);
	cut.network = s->jail->outcome.result.network; /* borrowed */
	record_end(s, &cut);
}

void aj_session_record_network(struct aj_session *s)
{
	struct aj_error err = { 0 };
	if (aj_trail_record_network(&s->trail, &s->jail->outcome.result.network, &err) < 0)
		aj_manager_log(s->pool->manager, "audit", &err);
}
