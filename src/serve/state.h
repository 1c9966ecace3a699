/* State that the service's files share: the server, its clients, their sessions and the requests that are under way. */
#pragma once
#include "base/error.h"
#include "base/frame.h"
#include "base/json_scan.h"
#include "base/loop.h"
#include "serve/accept.h"
#include "serve/frame_write.h"
#include "serve/http.h"
#include "serve/metrics.h"
#include "serve/proto.h"
#include "serve/server.h"
#include "serve/table.h"
#include "session/manager.h"

enum { AJ_READ_BYTES = 64 << 10, AJ_NAME_ROOM = AJ_ID_BYTES + 32 };

/* A request that is not answered yet. */
struct aj_client_request {
	struct aj_table_item named; /* by its id, in client->requests */
	char name[AJ_NAME_ROOM];
	struct aj_client *client;
	struct aj_slot *slot;           /* NULL: the request waits for a jail */
	json_t *id;                     /* owned */
	struct aj_query query;          /* freed when the jail has the parts that it needs */
	struct aj_client_request *next; /* the client's next waiting request */
	int64_t since_us;               /* when the request arrived; of a run: when it began */
	bool waiting, stream;
	bool counts;               /* in server->sessions, until its slot does */
	struct aj_piece pieces[2]; /* of stdout and stderr */
};

/* A jail that a client has or is about to get: for a session, or for one snippet. */
struct aj_slot {
	struct aj_table_item named; /* in client->sessions, when it is an open session */
	char name[32];
	struct aj_client *client;
	struct aj_session *session;
	struct aj_client_request *request; /* the request that it runs or that waits for it to open */
	bool lasting, open;
	const char *policy;
	struct aj_slot *next, **at; /* the list of the client's slots */
};

struct aj_client {
	struct aj_server *server;
	struct aj_client *next, **at;
	struct aj_io io;
	struct aj_quota quota;
	struct aj_timer drop;  /* set: the client is being freed, and is sent nothing more */
	struct aj_timer stall; /* set: output waits that the client does not read */
	struct aj_timer late;  /* set: deadline of the frame that has begun */
	int64_t since_us;      /* when the unfinished frame began; without one: when the client last sent bytes */
	uid_t uid;
	bool dropped, closing; /* closing: no more input is read, and the client is dropped when all output is sent */
	int fd;
	struct aj_frame_reader in;
	struct aj_scan scan; /* over the part of the frame that has arrived */
	struct aj_buffer out;
	struct aj_table requests, sessions;
	struct aj_slot *slots;
	struct aj_client_request *waiting, **waiting_end;
	size_t waiting_count;
	bool queued; /* in server->queue */
	struct aj_client *next_queued;
};

struct aj_server {
	const struct aj_server_config *config;
	struct aj_loop *loop;
	struct aj_manager *manager;
	struct aj_acceptor accept;
	struct aj_io signals;
	struct aj_timer watchdog, grace, flush, warm_up;
	struct aj_http *http;
	struct aj_metrics metrics;
	struct aj_client *clients;
	struct aj_client *queue, **queue_end; /* clients with waiting requests, in turn */
	uint64_t client_count, in_use, waiting, requests;
	uint64_t sessions; /* open or requested */
	size_t held_bytes; /* of requests that wait for a jail */
	uint64_t next_session;
	int64_t started_us;
	struct aj_session **warming; /* one for each policy, or NULL */
	bool stopping, done;
	char input[AJ_READ_BYTES];
};

void aj_server_log(const struct aj_server *server, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- client.c --- */
void aj_client_start(struct aj_server *server, int fd);
/* Begin a frame in client->out, with {"id":... if there is an id; false: the client is being dropped. */
bool aj_client_begin(struct aj_client *client, const json_t *id);
void aj_client_end(struct aj_client *client); /* end the frame and send it */
void aj_client_error(struct aj_client *client, const json_t *id, const struct aj_fault *fault);
/* Free the client from the loop, so any code may call this. `why`: for the log; NULL: not logged. */
void aj_client_drop(struct aj_client *client, const char *why);
void aj_client_free(struct aj_client *client);

/* --- ops.c --- */
/* Carry out one frame's body. */
void aj_ops_request(struct aj_client *client, const char *text, size_t bytes, struct aj_scan *scan);
/* End the client's jails and requests, without answers. */
void aj_ops_abandon(struct aj_client *client);
/* The service stops: fail waiting requests, and end sessions that run nothing; with `now` also those that run. */
void aj_ops_stop(struct aj_client *client, bool now);

/* --- requests.c --- */
/* Takes ownership of the query; the request is in client->requests until it is freed. */
struct aj_client_request *aj_client_request_new(struct aj_client *client, struct aj_query *query);
void aj_client_request_free(struct aj_client_request *request);
/* The jail has the parts of the query that it needs: free it. */
void aj_client_request_drop_query(struct aj_client_request *request);
/* Answer the request with an error, and free it. */
void aj_client_request_fail(struct aj_client_request *request, const struct aj_fault *fault);
/* Add the request to the queue for jails, or remove it. */
void aj_client_request_enqueue(struct aj_client_request *request);
void aj_client_request_dequeue(struct aj_client_request *request);
/* Take the next request out of the queue; NULL: the queue is empty. */
struct aj_client_request *aj_client_request_next(struct aj_server *server);
/* The request's key in client->requests: "s:" and a string, or "i:" and a number. */
void aj_client_request_name(char name[AJ_NAME_ROOM], const json_t *id);

/* --- slots.c --- */
/* exec or open: now, or as soon as jails_max allows. Takes ownership of the query. Returns -1 with fault. */
int aj_slot_open(struct aj_client *client, struct aj_query *query, const char *policy, struct aj_fault *fault);
/* Open jails for waiting requests while jails_max allows. */
void aj_slots_fill(struct aj_server *server);
/* run or set, from the request's query. Returns -1 with fault: the request remains. */
int aj_slot_run(struct aj_slot *slot, struct aj_client_request *request, struct aj_fault *fault);
/* Fork a session. Takes ownership of the query. Returns -1 with fault. */
int aj_slot_fork(struct aj_slot *slot, struct aj_query *query, struct aj_fault *fault);
/* checkpoint or rollback, from the request's query. Returns -1 with fault: the request remains. */
int aj_slot_branch(struct aj_slot *slot, struct aj_client_request *request, struct aj_fault *fault);
/* End the jail; its request remains, and gets no answer. */
void aj_slot_close(struct aj_slot *slot);
/* Translate an error of the session manager for clients. Always returns -1. */
int aj_slot_fault(struct aj_server *server, const struct aj_error *err, struct aj_fault *fault);
uint64_t aj_slot_retry_ms(const struct aj_server *server);

/* --- slot_events.c --- */
/* The session manager's callbacks for a slot, which is their `arg`. */
extern const struct aj_session_events aj_slot_events;
void aj_slot_notify_ended(struct aj_slot *slot, const char *why);
