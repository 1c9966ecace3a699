/* A client's jails, and what its requests do with them: run, checkpoint, roll back, end.
 * It opens no jail (jails.c does), and handles no event (event_frames.c does). */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "service/state.h"

struct aj_slot *aj_slot_find(const struct aj_client *c, const char *name, struct aj_fault *fault)
{
	struct aj_slot *slot;
	LIST_FOREACH(slot, &c->slots, of_client)
		if (slot->open && strcmp(slot->name, name) == 0)
			return slot;
	aj_fault(fault, AJ_CODE_NO_SUCH_SESSION, "no session of this connection is called `%s`", name);
	return NULL;
}

static void take_request(struct aj_slot *slot, struct aj_client_request *req)
{
	aj_party_count_idle(slot, -1);
	req->slot = slot;
	slot->request = req;
}

int aj_slot_run(struct aj_slot *slot, struct aj_client_request *req, struct aj_fault *fault)
{
	struct aj_error err = { 0 };
	const struct aj_query *q = &req->query;
	struct aj_snippet snippet;
	aj_query_snippet(q, &snippet);
	snippet.get = aj_query_text(q, AJ_M_NAME);
	snippet.vars = q->op == AJ_OP_VARS;
	snippet.last = !slot->lasting;
	snippet.brief |= slot->brief;
	snippet.lines = req->stream;
	if (aj_session_run(slot->session, &snippet, &err) < 0)
		return aj_server_fault(slot->client->server, &err, fault);
	take_request(slot, req);
	req->since_us = aj_now_us();
	aj_client_request_drop_query(req);
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
		return aj_server_fault(slot->client->server, &err, fault);
	take_request(slot, req);
	return 0;
}

void aj_slot_notify_ended(struct aj_slot *slot, const char *why)
{
	struct aj_client *c = slot->client;
	if (!slot->open || !aj_client_begin(c, NULL))
		return;
	aj_buffer_text(&c->out, "{\"event\":\"ended\",\"session\":\"");
	aj_buffer_text(&c->out, slot->name);
	aj_buffer_text(&c->out, "\",\"why\":");
	aj_buffer_string(&c->out, why, strlen(why));
	aj_buffer_text(&c->out, "}");
	aj_client_end(c);
}

void aj_slot_close(struct aj_slot *slot)
{
	struct aj_server *s = slot->client->server;
	if (slot->session)
		aj_session_close(slot->session);
	aj_party_count_idle(slot, -1);
	if (slot->request)
		slot->request->slot = NULL;
	LIST_REMOVE(slot, of_client);
	s->sessions -= slot->lasting;
	slot->party->sessions -= slot->lasting;
	slot->party->jails--;
	aj_party_release(slot->party);
	s->sessions_ended.count += slot->open;
	s->sessions_ended.sum_us += slot->open ? (uint64_t)(aj_now_us() - slot->since_us) : 0;
	s->in_use--;
	free(slot);
}
