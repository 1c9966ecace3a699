/* The requests that are under way: found by id, answered and freed. */
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

void aj_client_request_free(struct aj_client_request *req)
{
	if (req->waiting)
		aj_queue_remove(req);
	if (req->slot) {
		req->slot->request = NULL;
		aj_party_count_idle(req->slot, 1);
	}
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
