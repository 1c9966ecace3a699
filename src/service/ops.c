/* The operations of the protocol: one function a row. Each request fits the tables of service/protocol/query.c already, but may
 * name sessions or requests that no longer exist. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "service/state.h"

/* Returns 0, or -1 with fault, which then is the answer. */
typedef int op_fn(struct aj_client *client, struct aj_query *query, struct aj_fault *fault);

/* Answer with `result`, which is stolen. A request without an id gets no answer. */
static int reply(struct aj_client *c, const struct aj_query *q, json_t *result)
{
	if (q->member[AJ_M_ID])
		aj_client_result(c, q->member[AJ_M_ID], result);
	json_decref(result);
	return 0;
}

static struct aj_slot *find_session(const struct aj_client *c, const struct aj_query *q, struct aj_fault *fault)
{
	return aj_slot_find(c, aj_query_text(q, AJ_M_SESSION), fault);
}

static struct aj_client_request *find_request(const struct aj_client *c, const json_t *id, struct aj_fault *fault)
{
	char room[AJ_LABEL_BYTES];
	struct aj_client_request *req = aj_client_request_find(c, id);
	if (!req)
		aj_fault(fault, AJ_CODE_NO_SUCH_REQUEST, "no request `%s` is under way on this connection",
		         aj_client_request_label(id, room));
	return req;
}

static int place_jail(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	return aj_slot_open(c, q, aj_query_text(q, AJ_M_POLICY), fault);
}

static int run_in_session(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	struct aj_slot *slot = find_session(c, q, fault);
	if (!slot)
		return -1;
	if (slot->request)
		return aj_server_busy(c->server, fault, AJ_ROOM_RUN, "session `%s` is running a snippet", slot->name);
	struct aj_client_request *req = aj_client_request_new(c, q);
	bool branches = req->query.op == AJ_OP_CHECKPOINT || req->query.op == AJ_OP_ROLLBACK;
	if ((branches ? aj_slot_branch(slot, req, fault) : aj_slot_run(slot, req, fault)) < 0)
		aj_client_request_fail(req, fault);
	return 0;
}

static int fork_session(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	struct aj_slot *slot = find_session(c, q, fault);
	return slot ? aj_slot_fork(slot, q, fault) : -1;
}

static int forget_checkpoint(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	struct aj_error err = { 0 };
	struct aj_slot *slot = find_session(c, q, fault);
	if (!slot)
		return -1;
	if (aj_session_forget(slot->session, aj_query_count(q, AJ_M_CHECKPOINT), &err) < 0)
		return aj_server_fault(c->server, &err, fault);
	return reply(c, q, json_object());
}

/* Answers at once: what it reads of a jail is bounded. */
static int access_files(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	struct aj_error err = { 0 };
	struct aj_slot *slot = find_session(c, q, fault);
	if (!slot)
		return -1;
	json_t *found = NULL;
	const char *path = aj_query_text(q, AJ_M_PATH);
	if (q->op == AJ_OP_LIST_FILES)
		found = aj_session_list_files(slot->session, path, &err);
	else if (q->op == AJ_OP_READ_FILE)
		found = aj_session_read_file(slot->session, path, aj_query_count(q, AJ_M_OFFSET),
		                             q->member[AJ_M_BYTES] ? aj_query_count(q, AJ_M_BYTES) : UINT64_MAX, &err);
	else if (aj_session_remove_file(slot->session, path, &err) == 0)
		found = json_object();
	return found ? reply(c, q, found) : aj_server_fault(c->server, &err, fault);
}

static int declare_tools(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	struct aj_error err = { 0 };
	struct aj_slot *slot = find_session(c, q, fault);
	if (!slot)
		return -1;
	if (aj_session_tools(slot->session, q->member[AJ_M_TOOLS], &err) < 0)
		return aj_server_fault(c->server, &err, fault);
	return reply(c, q, json_object());
}

/* A tool may take longer than its call waits, or than the run: the client is not at fault, and an error without an id would
 * arrive in the middle of another request. So a late answer is answered only if the client gave an id. */
static int answer_call(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	char room[AJ_LABEL_BYTES];
	struct aj_error err = { 0 };
	const json_t *id = q->member[AJ_M_ID], *value = q->member[AJ_M_VALUE], *error = q->member[AJ_M_ERROR];
	struct aj_client_request *req = find_request(c, q->member[AJ_M_REQUEST], fault);
	if (!req)
		return id ? -1 : 0;
	uint64_t call = aj_query_count(q, AJ_M_CALL);
	int r = !req->slot ? aj_fail(&err, AJ_EXIT_USAGE, "tool", 0, "the request has no jail yet")
	      : value      ? aj_session_tool_value(req->slot->session, call, value, &err)
	                   : aj_session_tool_error(req->slot->session, call, json_string_value(json_object_get(error, "type")),
	                                           json_string_value(json_object_get(error, "message")), &err);
	if (r == 0 || (!id && err.reason == AJ_REASON_CLOSED))
		return reply(c, q, json_object());
	aj_fault(fault, AJ_CODE_NO_SUCH_CALL, "call %lu of request `%s`: %s", (unsigned long)call,
	         aj_client_request_label(req->id, room), err.cause);
	if (!id) {
		fault->request = q->member[AJ_M_REQUEST];
		fault->call = call;
	}
	return -1;
}

static int interrupt_run(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	struct aj_slot *slot;
	struct aj_fault why;
	if (q->member[AJ_M_SESSION]) {
		if (!(slot = find_session(c, q, fault)))
			return -1;
	} else {
		struct aj_client_request *req = find_request(c, q->member[AJ_M_REQUEST], fault);
		if (!req)
			return -1;
		slot = req->slot;
		if (!slot || aj_session_state(slot->session) <= AJ_SESSION_OPENING) {
			if (slot)
				aj_slot_close(slot);
			aj_fault(&why, AJ_CODE_INTERRUPTED, "interrupted while it waited for a jail");
			aj_client_request_fail(req, &why);
			aj_slots_fill(c->server);
			return reply(c, q, json_object());
		}
	}
	aj_session_interrupt(slot->session);
	return reply(c, q, json_object());
}

static int close_session(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	struct aj_fault why;
	struct aj_client_request *req = NULL;
	struct aj_slot *slot = NULL;
	if (q->member[AJ_M_SESSION])
		slot = find_session(c, q, fault);
	else
		req = find_request(c, q->member[AJ_M_REQUEST], fault);
	if (!slot && !req)
		return -1;
	if (req && req->slot && req->slot->open)
		return aj_fault(fault, AJ_CODE_BAD_REQUEST, "the request runs in session `%s`: close that session",
		                req->slot->name);
	slot = slot ? slot : req->slot;
	req = slot ? slot->request : req;
	if (slot)
		aj_slot_close(slot);
	if (req) {
		aj_fault(&why, AJ_CODE_CLOSED, "closed while it was under way");
		aj_client_request_fail(req, &why);
	}
	reply(c, q, json_object());
	aj_slots_fill(c->server);
	return 0;
}

static int send_stats(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	const struct aj_server *s = c->server;
	(void)fault;
	static const struct {
		const char *name;
		enum aj_gauge gauge;
	} totals[] = { { "jails", AJ_GAUGE_JAILS },
		       { "parked", AJ_GAUGE_PARKED },
		       { "starting", AJ_GAUGE_STARTING },
		       { "zygotes", AJ_GAUGE_ZYGOTES },
		       { "zygote_deaths", AJ_GAUGE_ZYGOTE_DEATHS },
		       { "in_use", AJ_GAUGE_IN_USE },
		       { "sessions", AJ_GAUGE_SESSIONS },
		       { "requests_waiting", AJ_GAUGE_WAITING },
		       { "clients", AJ_GAUGE_CLIENTS } };
	json_t *doc = aj_manager_stats(s->manager);
	uint64_t gauges[AJ_GAUGES], runs = s->metrics.run.count;
	aj_server_gauges(s, gauges);
	aj_shard_add_others(s, gauges, &runs);
	for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
		json_object_set_new(doc, totals[i].name, json_integer((json_int_t)gauges[totals[i].gauge]));
	json_object_set_new(doc, "runs", json_integer((json_int_t)runs));
	if (s->config->shard) {
		json_object_set_new(doc, "shard", json_integer((json_int_t)s->config->shard->index));
		json_object_set_new(doc, "shards", json_integer((json_int_t)s->config->shard->count));
	}
	json_object_set_new(doc, "uptime_ms", json_integer((json_int_t)((aj_now_us() - s->started_us) / 1000)));
	return reply(c, q, doc);
}

static int ping(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	(void)fault;
	return reply(c, q, json_object());
}

static const struct {
	op_fn *fn;
	bool begins; /* creates a request: refused while the service stops, and its id must be free */
} ops[AJ_OPS] = {
	[AJ_OP_EXEC] = { place_jail, true },
	[AJ_OP_OPEN] = { place_jail, true },
	[AJ_OP_RUN] = { run_in_session, true },
	[AJ_OP_SET] = { run_in_session, true },
	[AJ_OP_GET] = { run_in_session, true },
	[AJ_OP_VARS] = { run_in_session, true },
	[AJ_OP_WRITE_FILES] = { run_in_session, true },
	[AJ_OP_READ_FILE] = { access_files, false },
	[AJ_OP_LIST_FILES] = { access_files, false },
	[AJ_OP_REMOVE_FILE] = { access_files, false },
	[AJ_OP_FORK] = { fork_session, true },
	[AJ_OP_CHECKPOINT] = { run_in_session, true },
	[AJ_OP_ROLLBACK] = { run_in_session, true },
	[AJ_OP_FORGET] = { forget_checkpoint, false },
	[AJ_OP_TOOLS] = { declare_tools, false },
	[AJ_OP_TOOL_RESULT] = { answer_call, false },
	[AJ_OP_INTERRUPT] = { interrupt_run, false },
	[AJ_OP_CLOSE] = { close_session, false },
	[AJ_OP_STATS] = { send_stats, false },
	[AJ_OP_PING] = { ping, false },
};

static int begin_op(struct aj_client *c, struct aj_query *q, struct aj_fault *fault)
{
	char room[AJ_LABEL_BYTES];
	if (ops[q->op].begins) {
		if (c->server->stopping)
			return aj_fault(fault, AJ_CODE_SHUTTING_DOWN, "the service stops");
		if (aj_client_request_find(c, q->member[AJ_M_ID]))
			return aj_fault(fault, AJ_CODE_BAD_REQUEST, "a request with the id `%s` is under way already",
			                aj_client_request_label(q->member[AJ_M_ID], room));
	}
	return ops[q->op].fn(c, q, fault);
}

void aj_ops_request(struct aj_client *c, const char *text, size_t bytes, struct aj_scan *scan)
{
	struct aj_query q;
	struct aj_fault fault;
	int r = aj_query_read(text, bytes, scan, &q, &fault);
	bool gone = r == 0 && ops[q.op].fn == place_jail && aj_shard_give_away(c, aj_query_text(&q, AJ_M_TENANT), text, bytes);
	if (r < 0 || (!gone && begin_op(c, &q, &fault) < 0))
		aj_client_error(c, q.member[AJ_M_ID], &fault);
	aj_query_free(&q);
}

void aj_ops_abandon(struct aj_client *c)
{
	while (!LIST_EMPTY(&c->slots))
		aj_slot_close(LIST_FIRST(&c->slots));
	while (!LIST_EMPTY(&c->requests))
		aj_client_request_free(LIST_FIRST(&c->requests));
	aj_slots_fill(c->server);
}

void aj_ops_stop(struct aj_client *c, bool now)
{
	struct aj_fault fault;
	aj_fault(&fault, AJ_CODE_SHUTTING_DOWN, "the service stops");
	for (struct aj_client_request *req = LIST_FIRST(&c->requests), *next; req; req = next) {
		next = LIST_NEXT(req, of_client);
		if (req->waiting)
			aj_client_request_fail(req, &fault);
	}
	for (struct aj_slot *slot = LIST_FIRST(&c->slots), *next; slot; slot = next) {
		struct aj_client_request *req = slot->request;
		next = LIST_NEXT(slot, of_client);
		if (req && !now)
			continue;
		aj_slot_notify_ended(slot, "the service stops");
		aj_slot_close(slot);
		if (req)
			aj_client_request_fail(req, &fault);
	}
}
