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
	struct aj_client_request *t = calloc(1, sizeof *t);
	if (!t)
		abort();
	t->client = c;
	t->query = *query;
	*query = (struct aj_query){ 0 };
	t->id = json_incref(t->query.member[AJ_M_ID]);
	t->stream = json_is_true(t->query.member[AJ_M_STREAM]);
	t->since_us = aj_now_us();
	aj_client_request_name(t->name, t->id);
	t->named.name = t->name;
	aj_table_add(&c->requests, &t->named);
	c->server->requests++;
	c->server->held_bytes += t->query.weight;
	return t;
}

void aj_client_request_begun(struct aj_client_request *t)
{
	t->client->server->held_bytes -= t->query.weight;
	aj_query_free(&t->query);
}

void aj_client_request_free(struct aj_client_request *t)
{
	aj_client_request_wait_no_more(t);
	if (t->slot)
		t->slot->request = NULL;
	aj_table_remove(&t->client->requests, &t->named);
	t->client->server->requests--;
	t->client->server->sessions -= t->counts;
	aj_client_request_begun(t);
	json_decref(t->id);
	free(t);
}

void aj_client_request_fail(struct aj_client_request *t, const struct aj_fault *fault)
{
	aj_client_error(t->client, t->id, fault);
	aj_client_request_free(t);
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

void aj_client_request_wait(struct aj_client_request *t)
{
	struct aj_client *c = t->client;
	t->waiting = true;
	t->next = NULL;
	*c->waiting_end = t;
	c->waiting_end = &t->next;
	c->waiting_count++;
	c->server->waiting++;
	if (!c->queued)
		enqueue_client(c);
}

void aj_client_request_wait_no_more(struct aj_client_request *t)
{
	struct aj_client *c = t->client;
	struct aj_client_request **at = &c->waiting;
	if (!t->waiting)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (!*at)
		c->waiting_end = at;
	t->waiting = false;
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
	struct aj_client_request *t = c->waiting;
	aj_client_request_wait_no_more(t);
	if (c->waiting) { /* the client goes to the end of the queue */
		dequeue_client(c);
		enqueue_client(c);
	}
	return t;
}
