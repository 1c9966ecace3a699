/* Turns the session manager's reports into frames for clients: a jail is open, its output, its calls, its result, its end.
 * It opens no jail, and knows no more of one than the session manager reports. A slot is the argument of each report. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json/tree.h"
#include "service/state.h"

static void fail_opening(struct aj_slot *slot, const struct aj_fault *fault)
{
	struct aj_server *s = slot->client->server;
	struct aj_client_request *req = slot->request;
	aj_slot_close(slot);
	if (req)
		aj_client_request_fail(req, fault);
	aj_slots_fill(s);
}

/* The session is open. */
static void answer_open(struct aj_slot *slot)
{
	struct aj_server *s = slot->client->server;
	snprintf(slot->name, sizeof slot->name, "s%llu", (unsigned long long)++s->next_session);
	slot->open = true;
	slot->since_us = aj_now_us();
	s->metrics.counters[AJ_COUNT_SESSIONS_OPENED]++;
	json_t *result = json_pack("{s:s, s:s, s:b}", "session", slot->name, "policy", slot->policy, "warm",
	                           aj_session_warm(slot->session));
	json_t *constants = slot->brief ? aj_session_constants(slot->session) : NULL;
	if (constants)
		json_object_update(result, constants);
	json_decref(constants);
	aj_client_request_answer(slot->request, result);
	json_decref(result);
}

/* The files that came with `open` are written, or the result says why not. */
static void on_filled(struct aj_slot *slot, const struct aj_result *result, const struct aj_buffer *text)
{
	struct aj_fault fault;
	const char *wrong;
	slot->filling = false;
	if (result->status == AJ_STATUS_OK) {
		answer_open(slot);
		return;
	}
	json_t *doc = aj_json_read(text->data, text->bytes, &wrong);
	const char *why = json_string_value(json_object_get(json_object_get(doc, "error"), "message"));
	aj_fault(&fault, AJ_CODE_SETUP_ERROR, "the files could not be written: %.300s", why ? why : result->reason);
	json_decref(doc);
	fail_opening(slot, &fault);
}

static void on_opened(struct aj_session *session, void *arg, const struct aj_error *err)
{
	struct aj_slot *slot = arg;
	struct aj_server *s = slot->client->server;
	struct aj_client_request *req = slot->request;
	struct aj_fault fault;
	(void)session;
	if (err) {
		aj_server_fault(s, err, &fault);
		fail_opening(slot, &fault);
		return;
	}
	if (req->query.op != AJ_OP_FORK)
		aj_histogram_add(&s->metrics.queue, aj_now_us() - req->since_us);
	slot->filling = slot->lasting && (req->query.member[AJ_M_FILES] || req->query.member[AJ_M_SEED]);
	if (slot->lasting && !slot->filling)
		answer_open(slot);
	else if (aj_slot_run(slot, req, &fault) < 0)
		fail_opening(slot, &fault);
}

/* Begin an event of a request; false when the client is being dropped. */
static bool begin_event(struct aj_client_request *req, const char *name)
{
	struct aj_client *c = req->client;
	if (!aj_client_begin(c, req->id))
		return false;
	aj_buffer_text(&c->out, ",\"event\":\"");
	aj_buffer_text(&c->out, name);
	return true;
}

static void on_output(struct aj_session *session, void *arg, int number, const char *data, size_t bytes)
{
	struct aj_slot *slot = arg;
	struct aj_client_request *req = slot->request;
	(void)session;
	if (!req || !req->stream || !begin_event(req, number == 1 ? "stdout" : "stderr"))
		return;
	aj_buffer_text(&req->client->out, "\",");
	if (!aj_piece_data(&req->pieces[number - 1], &req->client->out, data, bytes)) {
		aj_buffer_cancel(&req->client->out);
		return;
	}
	aj_buffer_text(&req->client->out, "}");
	aj_client_end(req->client);
}

/* The bytes of a character that was never completed are sent as they are. */
static void flush_pieces(struct aj_client_request *req)
{
	for (int i = 0; i < 2; i++) {
		struct aj_piece *p = &req->pieces[i];
		if (!req->stream || !p->tail_bytes || !begin_event(req, i ? "stderr" : "stdout"))
			continue;
		aj_buffer_text(&req->client->out, "\",");
		aj_piece_end(p, &req->client->out);
		aj_buffer_text(&req->client->out, "}");
		aj_client_end(req->client);
	}
}

static void on_call(struct aj_session *session, void *arg, uint64_t call, const char *tool, const json_t *args)
{
	struct aj_slot *slot = arg;
	struct aj_client_request *req = slot->request;
	(void)session;
	if (!req || !begin_event(req, "tool_call"))
		return;
	struct aj_buffer *out = &req->client->out;
	aj_buffer_text(out, "\",\"call\":");
	aj_buffer_number(out, call);
	aj_buffer_text(out, ",\"tool\":");
	aj_buffer_string(out, tool, strlen(tool));
	aj_buffer_text(out, ",\"args\":");
	aj_buffer_json(out, args);
	aj_buffer_text(out, "}");
	req->client->server->metrics.counters[AJ_COUNT_TOOL_CALLS]++;
	aj_client_end(req->client);
}

static void on_waits(struct aj_session *session, void *arg, bool waits)
{
	struct aj_slot *slot = arg;
	const uint64_t change = waits ? 1 : UINT64_MAX;
	(void)session;
	slot->client->server->awaiting += change;
	slot->party->awaiting += change;
}

static void on_answered(struct aj_session *session, void *arg, const struct aj_result *result, struct aj_buffer *text)
{
	struct aj_slot *slot = arg;
	struct aj_server *s = slot->client->server;
	struct aj_client_request *req = slot->request;
	(void)session;
	if (req && slot->filling) {
		on_filled(slot, result, text);
		return;
	}
	if (req) {
		flush_pieces(req);
		aj_metrics_run(&s->metrics, slot->policy, result, aj_now_us() - req->since_us);
		aj_client_result_text(req->client, req->id, text);
		aj_client_request_free(req);
	}
	if (!slot->lasting) {
		aj_slot_close(slot);
		aj_slots_fill(s);
	} else if (s->stopping) {
		aj_slot_notify_ended(slot, "the service stops");
		aj_slot_close(slot);
	}
}

/* Answer a checkpoint or rollback. `result`: stolen. */
static void answer_branch_request(struct aj_slot *slot, json_t *result, const struct aj_error *err)
{
	struct aj_server *s = slot->client->server;
	struct aj_client_request *req = slot->request;
	struct aj_fault fault;
	if (req && err) {
		aj_server_fault(s, err, &fault);
		aj_client_request_fail(req, &fault);
	} else if (req) {
		aj_client_request_answer(req, result);
	}
	json_decref(result);
	if (s->stopping) {
		aj_slot_notify_ended(slot, "the service stops");
		aj_slot_close(slot);
	}
}

static void on_checkpointed(struct aj_session *session, void *arg, uint64_t id, const struct aj_error *err)
{
	(void)session;
	answer_branch_request(arg, json_pack("{s:I}", "checkpoint", (json_int_t)id), err);
}

static void on_rolled_back(struct aj_session *session, void *arg, uint64_t id, const struct aj_error *err)
{
	(void)session, (void)id;
	answer_branch_request(arg, json_object(), err);
}

static void on_ended(struct aj_session *session, void *arg, const char *why)
{
	struct aj_slot *slot = arg;
	struct aj_server *s = slot->client->server;
	struct aj_client_request *req = slot->request;
	struct aj_fault fault;
	/* A rollback may revive a branching session; until then it accepts nothing else, and the client closes it. */
	bool stays = aj_session_may_return(session);
	aj_slot_notify_ended(slot, why);
	if (!stays)
		aj_slot_close(slot);
	if (req && !(stays && req->query.op == AJ_OP_ROLLBACK)) {
		aj_fault(&fault, AJ_CODE_CLOSED, "the session's jail has ended: %s", why);
		aj_client_request_fail(req, &fault);
	}
	aj_slots_fill(s);
}

const struct aj_session_events aj_slot_events = {
	.opened = on_opened,
	.output = on_output,
	.call = on_call,
	.waits = on_waits,
	.answered = on_answered,
	.ended = on_ended,
	.checkpointed = on_checkpointed,
	.rolled_back = on_rolled_back,
};
