/* Clients' jails: opened by the session manager while the limit allows, and given back.
 * It never holds more jails than jails_max; their events go to slot_events.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "serve/state.h"

/* Memory of all requests that wait for a jail: requests can be large and many. */
enum { HELD_BYTES = 256 << 20 };

uint64_t aj_slot_retry_ms(const struct aj_server *s)
{
	const struct aj_histogram *h = &s->metrics.run;
	uint64_t mean_ms = h->count ? h->sum_us / h->count / 1000 : 100, room = s->config->jails_max;
	uint64_t ms = (mean_ms + 1) * (s->waiting + 1) / (room ? room : 1);
	return ms < 10 ? 10 : ms > 5000 ? 5000 : ms;
}

int aj_slot_fault(struct aj_server *s, const struct aj_error *err, struct aj_fault *fault)
{
	aj_fault_from(fault, err);
	if (fault->code == AJ_CODE_BUSY)
		fault->retry_ms = aj_slot_retry_ms(s);
	return -1;
}

void aj_slot_close(struct aj_slot *slot)
{
	struct aj_client *c = slot->client;
	struct aj_server *s = c->server;
	if (slot->session)
		aj_session_close(slot->session);
	if (slot->request)
		slot->request->slot = NULL;
	if (slot->open)
		aj_table_remove(&c->sessions, &slot->named);
	*slot->at = slot->next;
	if (slot->next)
		slot->next->at = slot->at;
	s->sessions -= slot->lasting;
	s->in_use--;
	free(slot);
}

static void take_slot(struct aj_slot *slot, struct aj_client_request *req, const char *policy)
{
	struct aj_client *c = req->client;
	slot->client = c;
	slot->policy = policy;
	slot->request = req;
	req->slot = slot;
	slot->next = c->slots;
	slot->at = &c->slots;
	if (slot->next)
		slot->next->at = &slot->next;
	c->slots = slot;
	c->server->in_use++;
	req->counts = false; /* the slot counts from here on */
}

/* Open a jail for the request; the caller has checked jails_max. Returns -1 with fault: the request remains. */
static int open_for_request(struct aj_client_request *req, const char *policy, struct aj_fault *fault)
{
	struct aj_client *c = req->client;
	struct aj_server *s = c->server;
	struct aj_error err = { 0 };
	struct aj_session_params place = { .policy = policy,
		                           .tenant = aj_query_text(&req->query, AJ_M_TENANT),
		                           .workspace = aj_query_text(&req->query, AJ_M_WORKSPACE),
		                           .branching = json_is_true(req->query.member[AJ_M_BRANCHING]) };
	struct aj_slot *slot = calloc(1, sizeof *slot);
	if (!slot)
		abort();
	slot->session = aj_session_open(s->manager, &place, &aj_slot_events, slot, &err);
	if (slot->session && req->query.member[AJ_M_TOOLS] && aj_session_tools(slot->session, req->query.member[AJ_M_TOOLS], &err) < 0) {
		aj_session_close(slot->session);
		slot->session = NULL;
	}
	if (!slot->session) {
		free(slot);
		return aj_slot_fault(s, &err, fault);
	}
	slot->lasting = req->query.op == AJ_OP_OPEN;
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

static int fail_busy(struct aj_server *s, struct aj_fault *fault, const char *fmt, uint64_t max)
{
	aj_fault(fault, AJ_CODE_BUSY, "%lu %s", (unsigned long)max, fmt);
	fault->retry_ms = aj_slot_retry_ms(s);
	return -1;
}

int aj_slot_open(struct aj_client *c, struct aj_query *query, const char *policy_name, struct aj_fault *fault)
{
	struct aj_server *s = c->server;
	const struct aj_server_config *config = s->config;
	const char *policy = find_policy(s, policy_name);
	if (!policy)
		return aj_fault(fault, AJ_CODE_NO_SUCH_POLICY, "no policy is called `%s` here", policy_name);
	if (query->op == AJ_OP_OPEN && s->sessions >= config->sessions_max)
		return fail_busy(s, fault, "sessions are open, and no more may be", config->sessions_max);
	if (s->held_bytes && s->held_bytes + query->weight > HELD_BYTES)
		return fail_busy(s, fault, "MiB of requests wait for a jail already", s->held_bytes >> 20);
	bool room = s->in_use < config->jails_max && !s->waiting;
	if (!room && s->waiting >= config->queue_max)
		return fail_busy(s, fault, "requests wait for a jail already", config->queue_max);
	if (!room && c->waiting_count >= (config->queue_max + 1) / 2)
		return fail_busy(s, fault, "requests of this connection wait for a jail already", (config->queue_max + 1) / 2);
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

int aj_slot_run(struct aj_slot *slot, struct aj_client_request *req, struct aj_fault *fault)
{
	struct aj_error err = { 0 };
	const struct aj_query *q = &req->query;
	struct aj_snippet snippet = { .id = aj_query_text(q, AJ_M_RUN_ID),
		                      .code = aj_query_text(q, AJ_M_CODE),
		                      .code_bytes = json_string_length(q->member[AJ_M_CODE]),
		                      .filename = aj_query_text(q, AJ_M_FILENAME),
		                      .inputs_json = q->passed_on,
		                      .inputs_checked = true,
		                      .timeout_ms = aj_query_count(q, AJ_M_TIMEOUT_MS),
		                      .last = !slot->lasting,
		                      .lines = req->stream };
	int r = aj_session_run(slot->session, &snippet, &err);
	if (r < 0)
		return aj_slot_fault(slot->client->server, &err, fault);
	req->slot = slot;
	slot->request = req;
	req->since_us = aj_now_us();
	aj_client_request_drop_query(req);
	return 0;
}

int aj_slot_fork(struct aj_slot *from, struct aj_query *query, struct aj_fault *fault)
{
	struct aj_client *c = from->client;
	struct aj_server *s = c->server;
	struct aj_error err = { 0 };
	/* A fork never waits in the queue: the session that it copies would change meanwhile. */
	if (s->sessions >= s->config->sessions_max)
		return fail_busy(s, fault, "sessions are open, and no more may be", s->config->sessions_max);
	if (s->in_use >= s->config->jails_max)
		return fail_busy(s, fault, "jails are in use, and no more may be", s->config->jails_max);
	struct aj_slot *slot = calloc(1, sizeof *slot);
	if (!slot)
		abort();
	if (!(slot->session = aj_session_fork(from->session, &aj_slot_events, slot, &err))) {
		free(slot);
		return aj_slot_fault(s, &err, fault);
	}
	slot->lasting = true;
	s->sessions++;
	take_slot(slot, aj_client_request_new(c, query), from->policy);
	return 0;
}

int aj_slot_branch(struct aj_slot *slot, struct aj_client_request *req, struct aj_fault *fault)
{
	struct aj_error err = { 0 };
	int r = req->query.op == AJ_OP_ROLLBACK
	          ? aj_session_rollback(slot->session, aj_query_count(&req->query, AJ_M_CHECKPOINT), &err)
	      : aj_session_checkpoint(slot->session, &err) ? 0
	                                                   : -1;
	if (r < 0)
		return aj_slot_fault(slot->client->server, &err, fault);
	req->slot = slot;
	slot->request = req;
	return 0;
}
