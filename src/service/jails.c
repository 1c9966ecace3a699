/* Opens jails for requests while the limit allows: at once, when others have closed, or as a copy of an open session.
 * It never holds more jails than jails_max, and waits for none: event_frames.c is notified of a jail that is open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "service/state.h"

/* Memory of all requests that wait for a jail: requests can be large and many. */
enum { QUEUED_BYTES_MAX = 256 << 20 };

static void take_slot(struct aj_slot *slot, struct aj_client_request *req, struct aj_party *party, const char *policy)
{
	struct aj_client *c = req->client;
	slot->client = c;
	slot->policy = policy;
	slot->request = req;
	req->slot = slot;
	LIST_INSERT_HEAD(&c->slots, slot, of_client);
	c->server->in_use++;
	slot->party = party;
	party->references++;
	party->jails++;
	req->counts = false; /* the slot counts from here on */
}

static struct aj_python_ask python_of(const struct aj_query *query, struct aj_arena *arena)
{
	const json_t *imports = query->member[AJ_M_IMPORTS], *layer = query->member[AJ_M_LAYER];
	const char **patterns = imports ? aj_alloc(arena, (json_array_size(imports) + 1) * sizeof *patterns) : NULL;
	for (size_t i = 0; patterns && i < json_array_size(imports); i++)
		patterns[i] = json_string_value(json_array_get(imports, i));
	return (struct aj_python_ask){ .imports = patterns,
		                       .imports_count = json_array_size(imports),
		                       .imports_checked = aj_query_text(query, AJ_M_IMPORTS_CHECKED),
		                       .builtins = aj_query_text(query, AJ_M_BUILTINS),
		                       .clock = aj_query_text(query, AJ_M_CLOCK),
		                       .sleep_max = aj_query_text(query, AJ_M_SLEEP_MAX),
		                       .layer = !layer              ? NULL
		                              : json_is_true(layer) ? "true"
		                                                    : "false" };
}

/* Open a jail for the request; the caller has checked jails_max. Returns -1 with fault: the request remains. */
static int open_for_request(struct aj_client_request *req, const char *policy, struct aj_fault *fault)
{
	struct aj_client *c = req->client;
	struct aj_server *s = c->server;
	struct aj_error err = { 0 };
	struct aj_arena arena = { 0 };
	struct aj_session_params place = { .policy = policy,
		                           .python = python_of(&req->query, &arena),
		                           .tenant = aj_query_text(&req->query, AJ_M_TENANT),
		                           .workspace = aj_query_text(&req->query, AJ_M_WORKSPACE),
		                           .branching = json_is_true(req->query.member[AJ_M_BRANCHING]) };
	struct aj_slot *slot = calloc(1, sizeof *slot);
	if (!slot)
		abort();
	slot->session = aj_session_open(s->manager, &place, s->on_slot, slot, &err);
	aj_arena_free(&arena);
	const json_t *tools = req->query.member[AJ_M_TOOLS];
	if (slot->session && tools && aj_session_tools(slot->session, tools, &err) < 0) {
		aj_session_close(slot->session);
		slot->session = NULL;
	}
	if (!slot->session) {
		free(slot);
		return aj_server_fault(s, &err, fault);
	}
	slot->lasting = req->query.op == AJ_OP_OPEN;
	slot->brief = slot->lasting && json_is_true(req->query.member[AJ_M_BRIEF]);
	take_slot(slot, req, req->party, policy);
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

/* Report what the jails are used for, all or the tenant's if it has its share, so that the caller sees whether waiting helps.
 * Returns -1. */
static int no_jail(const struct aj_server *s, const struct aj_party *party, struct aj_fault *fault, uint64_t waited_ms)
{
	bool all = s->in_use >= s->config->jails_max;
	unsigned long jails = all ? s->in_use : party->jails, idle = all ? s->idle : party->idle;
	unsigned long awaiting = all ? s->awaiting : party->awaiting;
	char waited[64] = "";
	if (waited_ms)
		snprintf(waited, sizeof waited, "the request waited for %lu ms, and ", (unsigned long)waited_ms);
	return aj_server_busy(s, fault, all ? AJ_ROOM_JAILS : AJ_ROOM_TENANT_JAILS,
	                      "%s%lu jails are in use%s, which is the limit%s: %lu by idle sessions, %lu by runs that wait for a tool, "
	                      "%lu by other runs",
	                      waited, jails, all ? "" : " by this tenant", all ? "" : " of a tenant", idle, awaiting,
	                      jails - idle - awaiting);
}

static void on_overdue(struct aj_timer *timer)
{
	struct aj_client_request *req = timer->arg;
	struct aj_fault fault;
	no_jail(req->client->server, req->party, &fault, (uint64_t)(aj_now_us() - req->since_us) / 1000);
	aj_client_request_fail(req, &fault);
}

/* How long the request waits for a jail; 0: not at all. */
static uint64_t queue_timeout_ms(const struct aj_server *s, const struct aj_query *query)
{
	uint64_t most = s->config->queue_ms ? s->config->queue_ms : UINT64_MAX;
	uint64_t asked = query->member[AJ_M_QUEUE_MS] ? aj_query_count(query, AJ_M_QUEUE_MS) : most;
	return asked < most ? asked : most;
}

static void wait_for_jail(struct aj_client_request *req)
{
	uint64_t ms = queue_timeout_ms(req->client->server, &req->query);
	req->overdue = (struct aj_timer){ .fn = on_overdue, .arg = req };
	aj_queue_add(req);
	if (ms != UINT64_MAX)
		aj_loop_set(req->client->server->loop, &req->overdue, aj_in_ms(ms));
}

/* Check for room for one more session. A named tenant may open only a part of all sessions. */
static int check_sessions(const struct aj_server *s, const struct aj_party *party, struct aj_fault *fault)
{
	const struct aj_server_config *config = s->config;
	uint64_t share = config->tenant_sessions ? config->tenant_sessions : (config->sessions_max + 1) / 2;
	if (s->sessions >= config->sessions_max)
		return aj_server_busy(s, fault, AJ_ROOM_SESSIONS, "%lu sessions are open, which is the limit",
		                      (unsigned long)config->sessions_max);
	if (party->tenant && party->sessions >= share)
		return aj_server_busy(s, fault, AJ_ROOM_TENANT,
		                      "tenant `%s` has %lu open sessions, which is the limit of a tenant", party->tenant,
		                      (unsigned long)share);
	return 0;
}

/* Check for room in the queue. A connection, or a named tenant, may fill half of it. */
static int check_queue(const struct aj_client *c, const struct aj_party *party, struct aj_fault *fault)
{
	const struct aj_server *s = c->server;
	unsigned long all = s->config->queue_max, half = (all + 1) / 2;
	if (s->waiting >= all)
		return aj_server_busy(s, fault, AJ_ROOM_QUEUE, "%lu requests already wait for a jail", all);
	if (c->waiting_count >= half)
		return aj_server_busy(s, fault, AJ_ROOM_QUEUE, "%lu requests of this connection already wait for a jail", half);
	if (party->waiting_count >= half)
		return aj_server_busy(s, fault, AJ_ROOM_QUEUE, "%lu requests of tenant `%s` already wait for a jail", half,
		                      party->tenant);
	return 0;
}

/* May the request have a jail at once, or wait for one? Sets *ret_room. */
static int check_room(const struct aj_client *c, const struct aj_query *query, const struct aj_party *party, bool *ret_room,
                      struct aj_fault *fault)
{
	const struct aj_server *s = c->server;
	if (query->op == AJ_OP_OPEN && check_sessions(s, party, fault) < 0)
		return -1;
	if (s->queued_bytes && s->queued_bytes + query->weight > QUEUED_BYTES_MAX)
		return aj_server_busy(s, fault, AJ_ROOM_BYTES, "%zu MiB of requests already wait for a jail",
		                      s->queued_bytes >> 20);
	if (party->queued_bytes && party->queued_bytes + query->weight > QUEUED_BYTES_MAX / 2)
		return aj_server_busy(s, fault, AJ_ROOM_BYTES, "%zu MiB of requests of this %s already wait for a jail",
		                      party->queued_bytes >> 20, party->tenant ? "tenant" : "connection");
	*ret_room = s->in_use < s->config->jails_max && party->jails < aj_party_share(s, party) && !aj_queue_next(s);
	if (*ret_room)
		return 0;
	return queue_timeout_ms(s, query) ? check_queue(c, party, fault) : no_jail(s, party, fault, 0);
}

int aj_slot_open(struct aj_client *c, struct aj_query *query, const char *policy_name, struct aj_fault *fault)
{
	struct aj_server *s = c->server;
	const char *policy = find_policy(s, policy_name);
	bool room = false;
	if (!policy)
		return aj_fault(fault, AJ_CODE_NO_SUCH_POLICY, "no policy is called `%s` here", policy_name);
	struct aj_party *party = aj_party_get(c, aj_query_text(query, AJ_M_TENANT));
	if (check_room(c, query, party, &room, fault) < 0) {
		aj_party_release(party);
		return -1;
	}
	struct aj_client_request *req = aj_client_request_new(c, query);
	req->party = party;
	party->queued_bytes += req->query.weight;
	req->counts = req->query.op == AJ_OP_OPEN;
	s->sessions += req->counts;
	party->sessions += req->counts;
	if (!room) {
		wait_for_jail(req);
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
	struct aj_client_request *req;
	while (!s->stopping && s->in_use < s->config->jails_max && (req = aj_queue_next(s))) {
		aj_queue_take(req);
		if (open_for_request(req, find_policy(s, aj_query_text(&req->query, AJ_M_POLICY)), &fault) < 0)
			aj_client_request_fail(req, &fault);
	}
}

int aj_slot_fork(struct aj_slot *from, struct aj_query *query, struct aj_fault *fault)
{
	struct aj_client *c = from->client;
	struct aj_server *s = c->server;
	struct aj_error err = { 0 };
	/* A fork never waits in the queue: the session that it copies would change meanwhile. */
	if (check_sessions(s, from->party, fault) < 0)
		return -1;
	if (s->in_use >= s->config->jails_max || from->party->jails >= aj_party_share(s, from->party))
		return no_jail(s, from->party, fault, 0);
	struct aj_slot *slot = calloc(1, sizeof *slot);
	if (!slot)
		abort();
	if (!(slot->session = aj_session_fork(from->session, s->on_slot, slot, &err))) {
		free(slot);
		return aj_server_fault(s, &err, fault);
	}
	slot->lasting = true;
	slot->brief = from->brief;
	s->sessions++;
	from->party->sessions++;
	take_slot(slot, aj_client_request_new(c, query), from->party, from->policy);
	return 0;
}
