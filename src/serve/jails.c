/* Opens jails for requests while the limit allows, and turns the session manager's events into frames: answers, output, ends.
 * It never holds more jails than jails_max, and knows no more of a jail than the session manager reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "serve/state.h"

/* Memory of all requests that wait for a jail: requests can be large and many. */
enum { HELD_BYTES = 256 << 20 };

/* --- reports of the session manager; a slot is the argument --- */

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
static void on_filled(struct aj_slot *slot, const struct aj_result *result, const json_t *doc)
{
	struct aj_fault fault;
	const char *why = json_string_value(json_object_get(json_object_get(doc, "error"), "message"));
	slot->filling = false;
	if (result->status == AJ_STATUS_OK) {
		answer_open(slot);
		return;
	}
	aj_fault(&fault, AJ_CODE_SETUP_ERROR, "the files could not be written: %.300s", why ? why : result->reason);
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
		if (!req->stream || !p->held_bytes || !begin_event(req, i ? "stderr" : "stdout"))
			continue;
		aj_buffer_text(&req->client->out, "\",");
		aj_piece_rest(p, &req->client->out);
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

static void on_answered(struct aj_session *session, void *arg, const struct aj_result *result, const json_t *doc)
{
	struct aj_slot *slot = arg;
	struct aj_server *s = slot->client->server;
	struct aj_client_request *req = slot->request;
	(void)session;
	if (req && slot->filling) {
		on_filled(slot, result, doc);
		return;
	}
	if (req) {
		flush_pieces(req);
		aj_metrics_run(&s->metrics, slot->policy, result, aj_now_us() - req->since_us);
		aj_client_request_answer(req, doc);
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

static const struct aj_session_events events = {
	.opened = on_opened,
	.output = on_output,
	.call = on_call,
	.answered = on_answered,
	.ended = on_ended,
	.checkpointed = on_checkpointed,
	.rolled_back = on_rolled_back,
};

/* --- opening --- */

static void take_slot(struct aj_slot *slot, struct aj_client_request *req, const char *policy)
{
	struct aj_client *c = req->client;
	slot->client = c;
	slot->policy = policy;
	slot->request = req;
	req->slot = slot;
	LIST_INSERT_HEAD(&c->slots, slot, of_client);
	c->server->in_use++;
	req->counts = false; /* the slot counts from here on */
}

static struct aj_python_ask python_of(const struct aj_query *query, struct aj_arena *arena)
{
	const json_t *imports = query->member[AJ_M_IMPORTS], *layer = query->member[AJ_M_LAYER];
	const char **patterns = imports ? aj_alloc(arena, (json_array_size(imports) + 1) * sizeof *patterns) : NULL;
	for (size_t i = 0; patterns && i < json_array_size(imports); i++)
		patterns[i] = json_string_value(json_array_get(imports, i));
	return (struct aj_python_ask){ .imports = patterns,
		                       .imports_count = json_array_size(imports),
		                       .imports_checked = aj_query_text(query, AJ_M_IMPORTS_CHECKED),
		                       .builtins = aj_query_text(query, AJ_M_BUILTINS),
		                       .clock = aj_query_text(query, AJ_M_CLOCK),
		                       .sleep_max = aj_query_text(query, AJ_M_SLEEP_MAX),
		                       .layer = !layer              ? NULL
		                              : json_is_true(layer) ? "true"
		                                                    : "false" };
}

/* Open a jail for the request; the caller has checked jails_max. Returns -1 with fault: the request remains. */
static int open_for_request(struct aj_client_request *req, const char *policy, struct aj_fault *fault)
{
	struct aj_client *c = req->client;
	struct aj_server *s = c->server;
	struct aj_error err = { 0 };
	struct aj_arena arena = { 0 };
	struct aj_session_params place = { .policy = policy,
		                           .python = python_of(&req->query, &arena),
		                           .tenant = aj_query_text(&req->query, AJ_M_TENANT),
		                           .workspace = aj_query_text(&req->query, AJ_M_WORKSPACE),
		                           .branching = json_is_true(req->query.member[AJ_M_BRANCHING]) };
	struct aj_slot *slot = calloc(1, sizeof *slot);
	if (!slot)
		abort();
	slot->session = aj_session_open(s->manager, &place, &events, slot, &err);
	aj_arena_free(&arena);
	if (slot->session && req->query.member[AJ_M_TOOLS] && aj_session_tools(slot->session, req->query.member[AJ_M_TOOLS], &err) < 0) {
		aj_session_close(slot->session);
		slot->session = NULL;
	}
	if (!slot->session) {
		free(slot);
		return aj_server_fault(s, &err, fault);
	}
	slot->lasting = req->query.op == AJ_OP_OPEN;
	slot->brief = slot->lasting && json_is_true(req->query.member[AJ_M_BRIEF]);
	take_slot(slot, req, policy);
	return 0;
}

/* The session manager's own copy of a policy's name, which lives as long as the manager. */
static const char *find_policy(const struct aj_server *s, const char *name)
{
	for (size_t i = 0; i < aj_manager_policies(s->manager); i++)
		if (!name || strcmp(aj_manager_policy_name(s->manager, i), name) == 0)
			return aj_manager_policy_name(s->manager, i);
	return NULL;
}

int aj_slot_open(struct aj_client *c, struct aj_query *query, const char *policy_name, struct aj_fault *fault)
{
	struct aj_server *s = c->server;
	const struct aj_server_config *config = s->config;
	const char *policy = find_policy(s, policy_name);
	if (!policy)
		return aj_fault(fault, AJ_CODE_NO_SUCH_POLICY, "no policy is called `%s` here", policy_name);
	if (query->op == AJ_OP_OPEN && s->sessions >= config->sessions_max)
		return aj_server_busy(s, fault, "%lu sessions are open, the limit", (unsigned long)config->sessions_max);
	if (s->held_bytes && s->held_bytes + query->weight > HELD_BYTES)
		return aj_server_busy(s, fault, "%zu MiB of requests wait for a jail already", s->held_bytes >> 20);
	bool room = s->in_use < config->jails_max && !s->waiting;
	if (!room && s->waiting >= config->queue_max)
		return aj_server_busy(s, fault, "%lu requests wait for a jail already", (unsigned long)config->queue_max);
	if (!room && c->waiting_count >= (config->queue_max + 1) / 2)
		return aj_server_busy(s, fault, "%lu requests of this connection wait for a jail already",
		                      (unsigned long)(config->queue_max + 1) / 2);
	struct aj_client_request *req = aj_client_request_new(c, query);
	req->counts = req->query.op == AJ_OP_OPEN;
	s->sessions += req->counts;
	if (!room) {
		aj_client_request_enqueue(req);
		return 0;
	}
	if (open_for_request(req, policy, fault) == 0)
		return 0;
	aj_client_request_fail(req, fault);
	return 0;
}

void aj_slots_fill(struct aj_server *s)
{
	struct aj_fault fault;
	while (!s->stopping && s->waiting && s->in_use < s->config->jails_max) {
		struct aj_client_request *req = aj_client_request_next(s);
		if (open_for_request(req, find_policy(s, aj_query_text(&req->query, AJ_M_POLICY)), &fault) < 0)
			aj_client_request_fail(req, &fault);
	}
}

int aj_slot_fork(struct aj_slot *from, struct aj_query *query, struct aj_fault *fault)
{
	struct aj_client *c = from->client;
	struct aj_server *s = c->server;
	struct aj_error err = { 0 };
	/* A fork never waits in the queue: the session that it copies would change meanwhile. */
	if (s->sessions >= s->config->sessions_max)
		return aj_server_busy(s, fault, "%lu sessions are open, the limit", (unsigned long)s->config->sessions_max);
	if (s->in_use >= s->config->jails_max)
		return aj_server_busy(s, fault, "%lu jails are in use, the limit", (unsigned long)s->config->jails_max);
	struct aj_slot *slot = calloc(1, sizeof *slot);
	if (!slot)
		abort();
	if (!(slot->session = aj_session_fork(from->session, &events, slot, &err))) {
		free(slot);
		return aj_server_fault(s, &err, fault);
	}
	slot->lasting = true;
	slot->brief = from->brief;
	s->sessions++;
	take_slot(slot, aj_client_request_new(c, query), from->policy);
	return 0;
}
