/* Tests of service/requests.c and service/queue.c: requests found by their ids, and the turns of parties with waiting requests.
 * No connection and no jail: the clients are dropped already, so nothing is sent. */
#include <criterion/criterion.h>
#include <string.h>

#include "service/state.h"

enum { CLIENTS = 3 };

static const struct aj_server_config config = { .jails_max = 4 };
static struct aj_server server;
static struct aj_client clients[CLIENTS];

static void start(void)
{
	server = (struct aj_server){ .config = &config, .loop = aj_loop_new() };
	cr_assert(server.loop);
	TAILQ_INIT(&server.queue);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = (struct aj_client){ .server = &server, .dropped = true };
		TAILQ_INIT(&clients[i].party.waiting);
	}
}

static void done(void)
{
	for (int i = 0; i < CLIENTS; i++)
		while (!LIST_EMPTY(&clients[i].requests))
			aj_client_request_free(LIST_FIRST(&clients[i].requests));
	cr_expect(server.requests == 0 && server.waiting == 0 && server.queued_bytes == 0 && server.sessions == 0);
	cr_expect(TAILQ_EMPTY(&server.queue) && LIST_EMPTY(&server.tenants));
	aj_loop_free(server.loop);
}
TestSuite(requests, .init = start, .fini = done);

/* Takes the reference to `id`. */
static struct aj_client_request *add(int client, json_t *id)
{
	json_t *doc = json_pack("{s:o}", "id", id);
	struct aj_query query = { .doc = doc, .weight = 10, .member[AJ_M_ID] = json_object_get(doc, "id") };
	struct aj_client_request *req = aj_client_request_new(&clients[client], &query);
	cr_expect_null(query.doc, "the query is taken");
	return req;
}

static struct aj_client_request *find(int client, json_t *id)
{
	struct aj_client_request *found = aj_client_request_find(&clients[client], id);
	json_decref(id);
	return found;
}

Test(requests, ids)
{
	struct aj_client_request *one = add(0, json_integer(1)), *text = add(0, json_string("1")), *other = add(1, json_integer(1));
	cr_expect_eq(server.requests, 3);
	cr_expect_eq(server.queued_bytes, 30);
	cr_expect_eq(find(0, json_integer(1)), one);
	cr_expect_eq(find(0, json_string("1")), text, "a string is not the number");
	cr_expect_eq(find(1, json_integer(1)), other, "of each client its own");
	cr_expect_null(find(0, json_integer(2)));
	cr_expect_null(find(1, json_string("1")));
	cr_expect_null(find(2, json_integer(1)));
	aj_client_request_free(one);
	cr_expect_null(find(0, json_integer(1)));
	cr_expect_eq(find(0, json_string("1")), text);
	cr_expect_eq(server.requests, 2);
}

Test(requests, many)
{
	enum { MANY = 1000 };
	static struct aj_client_request *all[MANY];
	for (int i = 0; i < MANY; i++)
		all[i] = add(0, json_integer(i));
	for (int i = 0; i < MANY; i += 2)
		aj_client_request_free(all[i]);
	for (int i = 0; i < MANY; i++)
		cr_expect_eq(find(0, json_integer(i)), i % 2 ? all[i] : NULL);
}

Test(requests, labels)
{
	char room[AJ_LABEL_BYTES];
	json_t *ids[] = { json_integer(INT64_MIN), json_integer(7), json_string("a b") };
	static const char *const want[] = { "-9223372036854775808", "7", "a b" };
	for (size_t i = 0; i < 3; i++) {
		cr_expect_str_eq(aj_client_request_label(ids[i], room), want[i]);
		json_decref(ids[i]);
	}
}

/* The ids of the requests that come out of the queue, in their order. */
static void expect_order(const char *want)
{
	char got[64] = "";
	for (struct aj_client_request *req; (req = aj_queue_next(&server));) {
		aj_queue_take(req);
		strcat(got, json_string_value(req->id));
		strcat(got, " ");
		cr_expect_not(req->waiting);
	}
	cr_expect_str_eq(got, want);
	cr_expect_eq(server.waiting, 0);
}

static struct aj_client_request *wait_as(int client, const char *tenant, const char *id)
{
	struct aj_client_request *req = add(client, json_string(id));
	req->party = aj_party_get(&clients[client], tenant);
	aj_queue_add(req);
	return req;
}

static struct aj_client_request *wait(int client, const char *id)
{
	return wait_as(client, NULL, id);
}

Test(requests, turns)
{
	cr_expect_null(aj_queue_next(&server));
	wait(0, "a1"), wait(0, "a2"), wait(0, "a3"), wait(1, "b1"), wait(2, "c1"), wait(2, "c2");
	cr_expect_eq(server.waiting, 6);
	cr_expect_eq(clients[0].waiting_count, 3);
	expect_order("a1 b1 c1 a2 c2 a3 ");
}

/* The connections of a tenant share one turn, and the tenant waits while it has its share of the jails. */
Test(requests, turns_of_tenants)
{
	struct aj_client_request *first = wait_as(0, "t", "t1");
	wait_as(1, "t", "t2"), wait(1, "b1"), wait(0, "a1");
	cr_expect_eq(first->party->waiting_count, 2);
	first->party->jails = 3;
	cr_expect_str_eq(json_string_value(aj_queue_next(&server)->id), "b1");
	first->party->jails = 0;
	expect_order("t1 b1 a1 t2 ");
}

/* One that ends while it waits leaves the queue, and its client with its last. */
Test(requests, ended_while_waiting)
{
	wait(0, "a1");
	struct aj_client_request *second = wait(0, "a2"), *only = wait(1, "b1");
	struct aj_fault fault;
	aj_fault(&fault, AJ_CODE_SHUTTING_DOWN, "the service stops");
	wait(2, "c1");
	aj_client_request_free(second);
	aj_client_request_fail(only, &fault);
	cr_expect_eq(server.metrics.errors[AJ_CODE_SHUTTING_DOWN], 1);
	cr_expect_eq(server.waiting, 2);
	wait(1, "b2");
	expect_order("a1 c1 b2 ");
}
