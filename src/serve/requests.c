/* Requests that are under way, found by their id, and the queue of those that wait for a jail, in which clients take turns.
 * It starts no request; slots.c takes waiting ones out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "serve/state.h"

void aj_client_request_name(char name[AJ_NAME_ROOM], const json_t *id)
{
	if (json_is_integer(id))
		snprintf(name, AJ_NAME_ROOM, "i:%" JSON_INTEGER_FORMAT, json_integer_value(id));
	else
		snprintf(name, AJ_NAME_ROOM, "s:%s", json_string_value(id));
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
	aj_client_request_name(req->name, req->id);
	req->named.name = req->name;
	aj_table_add(&c->requests, &req->named);
	c->server->requests++;
	c->server->held_bytes += req->query.weight;
	return req;
}

void aj_client_request_drop_query(struct aj_client_request *req)
{
	req->client->server->held_bytes -= req->query.weight;
	aj_query_free(&req->query);
}

void aj_client_request_free(struct aj_client_request *req)
{
	aj_client_request_dequeue(req);
	if (req->slot)
		req->slot->request = NULL;
	aj_table_remove(&req->client->requests, &req->named);
	req->client->server->requests--;
	req->client->server->sessions -= req->counts;
	aj_client_request_drop_query(req);
	json_decref(req->id);
	free(req);
}

void aj_client_request_fail(struct aj_client_request *req, const struct aj_fault *fault)
{
	aj_client_error(req->client, req->id, fault);
	aj_client_request_free(req);
}

static void enqueue_client(struct aj_client *c)
{
	struct aj_server *s = c->server;
	c->next_queued = NULL;
	*s->queue_end = c;
	s->queue_end = &c->next_queued;
	c->queued = true;
}

static void dequeue_client(struct aj_client *c)
{
	struct aj_server *s = c->server;
	struct aj_client **at = &s->queue;
	while (*at && *at != c)
		at = &(*at)->next_queued;
	if (!*at)
		return;
	*at = c->next_queued;
	if (!*at)
		s->queue_end = at;
	c->queued = false;
}

void aj_client_request_enqueue(struct aj_client_request *req)
{
	struct aj_client *c = req->client;
	req->waiting = true;
	req->next = NULL;
	*c->waiting_end = req;
	c->waiting_end = &req->next;
	c->waiting_count++;
	c->server->waiting++;
	if (!c->queued)
		enqueue_client(c);
}

void aj_client_request_dequeue(struct aj_client_request *req)
{
	struct aj_client *c = req->client;
	struct aj_client_request **at = &c->waiting;
	if (!req->waiting)
		return;
	while (*at != req)
		at = &(*at)->next;
	*at = req->next;
	if (!*at)
		c->waiting_end = at;
	req->waiting = false;
	c->waiting_count--;
	c->server->waiting--;
	if (!c->waiting)
		dequeue_client(c);
}

struct aj_client_request *aj_client_request_next(struct aj_server *s)
{
	struct aj_client *c = s->queue;
	if (!c)
		return NULL;
	struct aj_client_request *req = c->waiting;
	aj_client_request_dequeue(req);
	if (c->waiting) { /* the client goes to the end of the queue */
		dequeue_client(c);
		enqueue_client(c);
	}
	return req;
}
