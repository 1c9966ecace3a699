/* The requests that are under way, by id, and the queue for jails, in which tenants and clients take turns.
 * It starts no request; jails.c takes waiting ones out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "jail/result/result.h"
#include "service/state.h"

const char *aj_client_request_label(const json_t *id, char room[AJ_LABEL_BYTES])
{
	if (json_is_string(id))
		return json_string_value(id);
	snprintf(room, AJ_LABEL_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
	return room;
}

struct aj_client_request *aj_client_request_new(struct aj_client *c, struct aj_query *query)
{
	struct aj_client_request *req = calloc(1, sizeof *req);
	if (!req)
		abort();
	req->client = c;
	req->query = *query;
	*query = (struct aj_query){ 0 };
	req->id = json_incref(req->query.member[AJ_M_ID]);
	req->stream = json_is_true(req->query.member[AJ_M_STREAM]);
	req->since_us = aj_now_us();
	LIST_INSERT_HEAD(&c->requests, req, of_client);
	c->server->requests++;
	c->server->queued_bytes += req->query.weight;
	return req;
}

struct aj_client_request *aj_client_request_find(const struct aj_client *c, const json_t *id)
{
	struct aj_client_request *req;
	LIST_FOREACH(req, &c->requests, of_client)
		if (json_equal(req->id, id))
			return req;
	return NULL;
}

void aj_client_request_drop_query(struct aj_client_request *req)
{
	req->client->server->queued_bytes -= req->query.weight;
	if (req->party)
		req->party->queued_bytes -= req->query.weight;
	aj_query_free(&req->query);
}

struct aj_party *aj_party_get(struct aj_client *c, const char *tenant)
{
	struct aj_party *party = &c->party;
	if (tenant) {
		LIST_FOREACH(party, &c->server->tenants, listed)
			if (strcmp(party->tenant, tenant) == 0)
				break;
		if (!party) {
			party = calloc(1, sizeof *party);
			if (!party || !(party->tenant = strdup(tenant)))
				abort();
			TAILQ_INIT(&party->waiting);
			LIST_INSERT_HEAD(&c->server->tenants, party, listed);
		}
	}
	party->references++;
	return party;
}

void aj_party_release(struct aj_party *party)
{
	if (--party->references || !party->tenant)
		return;
	LIST_REMOVE(party, listed);
	free((char *)party->tenant);
	free(party);
}

uint64_t aj_party_share(const struct aj_server *s, const struct aj_party *party)
{
	uint64_t all = s->config->jails_max, share = all - all / 4;
	return !party->tenant ? all : s->config->tenant_sessions > share ? s->config->tenant_sessions : share;
}

void aj_client_request_enqueue(struct aj_client_request *req)
{
	struct aj_server *s = req->client->server;
	if (req->party->waiting_count++ == 0)
		TAILQ_INSERT_TAIL(&s->queue, req->party, turn);
	TAILQ_INSERT_TAIL(&req->party->waiting, req, turn);
	req->client->waiting_count++;
	s->waiting++;
	req->waiting = true;
}

static void leave_queue(struct aj_client_request *req)
{
	struct aj_party *party = req->party;
	struct aj_server *s = req->client->server;
	TAILQ_REMOVE(&party->waiting, req, turn);
	if (--party->waiting_count == 0)
		TAILQ_REMOVE(&s->queue, party, turn);
	req->client->waiting_count--;
	s->waiting--;
	req->waiting = false;
	aj_loop_unset(s->loop, &req->overdue);
}

void aj_client_request_take(struct aj_client_request *req)
{
	struct aj_party *party = req->party;
	struct aj_server *s = req->client->server;
	leave_queue(req);
	if (party->waiting_count) {
		TAILQ_REMOVE(&s->queue, party, turn);
		TAILQ_INSERT_TAIL(&s->queue, party, turn);
	}
}

struct aj_client_request *aj_client_request_next(const struct aj_server *s)
{
	const struct aj_party *party;
	TAILQ_FOREACH(party, &s->queue, turn)
		if (party->jails < aj_party_share(s, party))
			return TAILQ_FIRST(&party->waiting);
	return NULL;
}

void aj_client_request_free(struct aj_client_request *req)
{
	if (req->waiting)
		leave_queue(req);
	if (req->slot)
		req->slot->request = NULL;
	LIST_REMOVE(req, of_client);
	req->client->server->requests--;
	req->client->server->sessions -= req->counts;
	aj_client_request_drop_query(req);
	if (req->party) {
		req->party->sessions -= req->counts;
		aj_party_release(req->party);
	}
	json_decref(req->id);
	free(req);
}

void aj_client_request_answer(struct aj_client_request *req, const json_t *result)
{
	aj_client_result(req->client, req->id, result);
	aj_client_request_free(req);
}

/* Answer with a result, as for any rejected snippet. */
static void answer_rejected(struct aj_client_request *req, const struct aj_error *err)
{
	struct aj_arena arena = { 0 };
	const char *id = aj_query_text(&req->query, AJ_M_RUN_ID);
	json_t *result = aj_result_refused_json(id ? id : aj_session_new_id(&arena), AJ_STATUS_REJECTED, "SourceError", err);
	if (req->query.op == AJ_OP_RUN)
		json_object_set_new(result, "session", json_string("alive"));
	aj_client_result(req->client, req->id, result);
	json_decref(result);
	aj_arena_free(&arena);
}

void aj_client_request_fail(struct aj_client_request *req, const struct aj_fault *fault)
{
	if (fault->source.exit_code)
		answer_rejected(req, &fault->source);
	else
		aj_client_error(req->client, req->id, fault);
	aj_client_request_free(req);
}
