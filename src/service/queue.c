/* The queue of requests that wait for a jail, in which parties take turns. */
#include <stdlib.h>
#include <string.h>

#include "service/state.h"

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

void aj_party_count_idle(const struct aj_slot *slot, int change)
{
	if (!slot->open || slot->request)
		return;
	slot->client->server->idle += (uint64_t)change;
	slot->party->idle += (uint64_t)change;
}

void aj_queue_add(struct aj_client_request *req)
{
	struct aj_server *s = req->client->server;
	if (req->party->waiting_count++ == 0)
		TAILQ_INSERT_TAIL(&s->queue, req->party, turn);
	TAILQ_INSERT_TAIL(&req->party->waiting, req, turn);
	req->client->waiting_count++;
	s->waiting++;
	req->waiting = true;
}

void aj_queue_remove(struct aj_client_request *req)
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

void aj_queue_take(struct aj_client_request *req)
{
	struct aj_party *party = req->party;
	struct aj_server *s = req->client->server;
	aj_queue_remove(req);
	if (party->waiting_count) {
		TAILQ_REMOVE(&s->queue, party, turn);
		TAILQ_INSERT_TAIL(&s->queue, party, turn);
	}
}

struct aj_client_request *aj_queue_next(const struct aj_server *s)
{
	const struct aj_party *party;
	TAILQ_FOREACH(party, &s->queue, turn)
		if (party->jails < aj_party_share(s, party))
			return TAILQ_FIRST(&party->waiting);
	return NULL;
}
