/* Requests that are under way: by their id, and those that wait for room in a line where every client has his turn.
 * It starts nothing; whoever waits is taken out by those who have room. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "serve/state.h"

void aj_task_name(char name[AJ_NAME_ROOM], const json_t *id)
{
	if (json_is_integer(id))
		snprintf(name, AJ_NAME_ROOM, "i:%" JSON_INTEGER_FORMAT, json_integer_value(id));
	else
		snprintf(name, AJ_NAME_ROOM, "s:%s", json_string_value(id));
}

struct aj_task *aj_task_new(struct aj_client *c, struct aj_query *query)
{
	struct aj_task *t = calloc(1, sizeof *t);
	if (!t)
		abort();
	t->client = c;
	t->query = *query;
	*query = (struct aj_query){ 0 };
	t->id = json_incref(t->query.member[AJ_M_ID]);
	t->stream = json_is_true(t->query.member[AJ_M_STREAM]);
	t->since_us = aj_now_us();
	aj_task_name(t->name, t->id);
	t->named.name = t->name;
	aj_table_add(&c->tasks, &t->named);
	c->server->tasks++;
	c->server->held_bytes += t->query.weight;
	return t;
}

void aj_task_begun(struct aj_task *t)
{
	t->client->server->held_bytes -= t->query.weight;
	aj_query_free(&t->query);
}

void aj_task_free(struct aj_task *t)
{
	aj_task_wait_no_more(t);
	if (t->seat)
		t->seat->task = NULL;
	aj_table_remove(&t->client->tasks, &t->named);
	t->client->server->tasks--;
	t->client->server->sessions -= t->counts;
	aj_task_begun(t);
	json_decref(t->id);
	free(t);
}

void aj_task_fail(struct aj_task *t, const struct aj_fault *fault)
{
	aj_client_error(t->client, t->id, fault);
	aj_task_free(t);
}

static void stand_in_line(struct aj_client *c)
{
	struct aj_server *s = c->server;
	c->next_in_line = NULL;
	*s->line_end = c;
	s->line_end = &c->next_in_line;
	c->in_line = true;
}

static void leave_line(struct aj_client *c)
{
	struct aj_server *s = c->server;
	struct aj_client **at = &s->line;
	while (*at && *at != c)
		at = &(*at)->next_in_line;
	if (!*at)
		return;
	*at = c->next_in_line;
	if (!*at)
		s->line_end = at;
	c->in_line = false;
}

void aj_task_wait(struct aj_task *t)
{
	struct aj_client *c = t->client;
	t->waiting = true;
	t->next = NULL;
	*c->waiting_end = t;
	c->waiting_end = &t->next;
	c->waiting_count++;
	c->server->waiting++;
	if (!c->in_line)
		stand_in_line(c);
}

void aj_task_wait_no_more(struct aj_task *t)
{
	struct aj_client *c = t->client;
	struct aj_task **at = &c->waiting;
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
		leave_line(c);
}

struct aj_task *aj_task_next(struct aj_server *s)
{
	struct aj_client *c = s->line;
	if (!c)
		return NULL;
	struct aj_task *t = c->waiting;
	aj_task_wait_no_more(t);
	if (c->waiting) { /* to the end of the line */
		leave_line(c);
		stand_in_line(c);
	}
	return t;
}
