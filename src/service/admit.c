/* Admits connections: of the service's own user and root; when all places are taken, a new client may replace another.
 * It reads nothing from a connection, and waits for none. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "service/process.h"
#include "service/state.h"

static void send_hello(struct aj_client *c)
{
	const struct aj_server *s = c->server;
	if (!aj_client_begin(c, NULL))
		return;
	aj_buffer_text(&c->out, "{\"hello\":{\"protocol\":");
	aj_buffer_number(&c->out, AJ_PROTOCOL);
	aj_buffer_text(&c->out, ",\"version\":\"" AJ_BUILD_VERSION "\",\"policies\":[");
	for (size_t i = 0; i < aj_manager_policies(s->manager); i++) {
		const char *name = aj_manager_policy_name(s->manager, i);
		aj_buffer_text(&c->out, i ? "," : "");
		aj_buffer_string(&c->out, name, strlen(name));
	}
	aj_buffer_text(&c->out, "],\"limits\":{\"request_bytes\":");
	aj_buffer_number(&c->out, s->config->request_bytes);
	aj_buffer_text(&c->out, ",\"request_ms\":");
	aj_buffer_number(&c->out, s->config->request_ms);
	aj_buffer_text(&c->out, ",\"unread_bytes\":");
	aj_buffer_number(&c->out, s->config->unread_bytes);
	aj_buffer_text(&c->out, ",\"sessions\":");
	aj_buffer_number(&c->out, s->config->sessions_max);
	aj_buffer_text(&c->out, "}}}");
	aj_client_end(c);
}

/* Has the client neither jails nor requests, so that dropping it ends nothing? */
static bool idle(const struct aj_client *c)
{
	return LIST_EMPTY(&c->slots) && LIST_EMPTY(&c->requests);
}

/* The client to drop when all places are taken: one with an unfinished frame, else an idle one, else one with an unfinished frame
 * and work under way; of several the oldest in that state. NULL: all clients have work under way. */
static struct aj_client *find_victim(const struct aj_server *s)
{
	enum { NEVER, WORKS_AND_BEGAN, IDLE, BEGAN } last = NEVER;
	struct aj_client *found = NULL;
	for (struct aj_client *c = LIST_FIRST(&s->clients); c; c = LIST_NEXT(c, of_server)) {
		bool begun = aj_client_in_frame(c), works = !idle(c);
		int class = c->dropped || c->closing ? NEVER : begun ? works ? WORKS_AND_BEGAN : BEGAN : works ? NEVER : IDLE;
		if (class == NEVER || class < (int)last || (class == (int)last && c->since_us >= found->since_us))
			continue;
		found = c;
		last = class;
	}
	return found;
}

/* False: all places are taken, and no client can be dropped. One place beyond the limit is for a user without a connection. */
static bool make_room(struct aj_server *s, const struct aj_client *newcomer)
{
	size_t there = 0, of_user = 0;
	for (const struct aj_client *c = LIST_FIRST(&s->clients); c; c = LIST_NEXT(c, of_server)) {
		there += !c->dropped && !c->closing;
		of_user += !c->dropped && !c->closing && c->uid == newcomer->uid;
	}
	struct aj_client *victim = there > s->config->clients_max ? find_victim(s) : NULL; /* the count includes the newcomer */
	if (victim && victim != newcomer) {
		struct aj_fault fault;
		aj_server_busy(s, &fault, AJ_ROOM_CLIENTS,
		               "%lu clients are connected, which is the limit; this one was closed to make room for another: it %s",
		               (unsigned long)s->config->clients_max,
		               aj_client_in_frame(victim) ? "had sent a frame in part" : "had no session and no request");
		s->metrics.counters[AJ_COUNT_CLIENTS_LATE]++;
		aj_client_expel(victim, &fault);
		return true;
	}
	return there <= s->config->clients_max || of_user == 1;
}

/* Is the client to be served? Returns -1 with the fault that refuses it. */
static int check(struct aj_server *s, struct aj_client *c, struct aj_fault *fault)
{
	uid_t uid;
	pid_t pid;
	bool known = aj_listen_peer(c->fd, &uid, &pid) == 0;
	if (!known || (uid != geteuid() && uid != 0)) {
		aj_fault(fault, AJ_CODE_DENIED, "this service belongs to user %d, and serves that user and root only",
		         (int)geteuid());
		aj_service_log(s->config, "user %d (process %d) was denied", known ? (int)uid : -1, known ? (int)pid : -1);
		return -1;
	}
	c->uid = uid;
	if (!make_room(s, c))
		return aj_server_busy(s, fault, AJ_ROOM_CLIENTS,
		                      "%lu clients are connected, which is the limit, and each has a session or a request",
		                      (unsigned long)s->config->clients_max);
	return 0;
}

/* The client, or NULL: the refusal is on its way. */
static struct aj_client *let_in(struct aj_server *s, int fd)
{
	struct aj_fault fault;
	struct aj_client *c = aj_client_new(s, fd);
	if (check(s, c, &fault) == 0)
		return c;
	c->closing = true;
	s->metrics.counters[AJ_COUNT_CLIENTS_DENIED] += fault.code == AJ_CODE_DENIED;
	aj_client_error(c, NULL, &fault);
	aj_client_watch(c);
	return NULL;
}

void aj_client_admit(struct aj_server *s, int fd)
{
	struct aj_client *c = let_in(s, fd);
	if (!c)
		return;
	s->metrics.counters[AJ_COUNT_CLIENTS_ACCEPTED]++;
	send_hello(c);
	aj_client_watch(c);
}

void aj_client_adopt(struct aj_server *s, int fd, const char *bytes, size_t count)
{
	struct aj_client *c = let_in(s, fd);
	if (!c)
		return;
	c->settled = true;
	aj_client_feed(c, bytes, count);
	aj_client_watch(c);
}
