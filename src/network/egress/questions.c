/* Holds connections to unlisted names, where the policy lets a person be asked: they wait, unread, until the supervisor answers.
 * It asks no person itself, and has no timeout of its own: the supervisor answers in time, or its end also ends the relay. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "network/egress/connection.h"
#include "network/egress/refused_connection.h"

enum {
	QUESTIONS_MAX = 16, /* open at a time; the supervisor lets fewer reach a person */
	WAITING_MAX = 64,   /* connections that wait for one answer */
};

struct aj_question {
	struct aj_question *next;
	uint32_t id;
	uint16_t port;
	struct aj_name *name;
	unsigned count;
	int fds[WAITING_MAX];
};

static void send_question(struct aj_relay *relay, const struct aj_question *q)
{
	struct aj_egress_event event = { .kind = AJ_EGRESS_ASKED, .count = 1, .id = q->id, .port = q->port };
	event.opened_us = aj_now_us();
	snprintf(event.name, sizeof event.name, "%s", q->name->text);
	aj_report(relay, &event);
}

bool aj_question_wait(struct aj_relay *relay, int fd, struct aj_name *name, uint16_t port, const char **ret_why)
{
	struct aj_question **at = &relay->questions, *q;
	unsigned open = 0;
	for (; *at && !((*at)->name == name && (*at)->port == port); at = &(*at)->next)
		open++;
	q = *at;
	if (!q && open < QUESTIONS_MAX && (q = calloc(1, sizeof *q))) {
		*q = (struct aj_question){ .id = ++relay->last_question, .name = name, .port = port };
		*at = q;
		name->connections++; /* the name stays while the question is open */
		q->fds[q->count++] = fd;
		relay->connection_count++;
		send_question(relay, q);
		return true;
	}
	if (q && q->count < WAITING_MAX) {
		q->fds[q->count++] = fd;
		relay->connection_count++;
		return true;
	}
	*ret_why = q ? "this name is not on the jail's list; too many connections wait for an answer to that"
	             : "this name is not on the jail's list; too many questions about such names are open";
	return false;
}

void aj_question_answered(struct aj_relay *relay, const struct aj_egress_answer *answer)
{
	struct aj_question **at = &relay->questions, *q;
	while (*at && (*at)->id != answer->id)
		at = &(*at)->next;
	if (!(q = *at))
		return;
	*at = q->next;
	if (answer->verdict == AJ_EGRESS_RUN)
		aj_rules_add(&relay->rules, q->name->text, q->port);
	q->name->connections--;
	relay->connection_count -= q->count;
	for (unsigned i = 0; i < q->count; i++)
		if (answer->verdict == AJ_EGRESS_DENY) {
			struct aj_egress_event event = aj_unlisted(q->name->text, "", q->port, answer->why);
			aj_report(relay, &event);
			aj_refuse_connection(relay->refused_connections, q->fds[i], &event, NULL, 0);
		} else
			aj_connection_begin(relay, q->fds[i], q->name, NULL, q->port);
	free(q);
	if (relay->parked)
		aj_listeners_watch(relay);
}
