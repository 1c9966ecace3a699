/* What the parts of the service share: the server, its clients, their sessions and the requests that are under way. */
#pragma once
#include "base/error.h"
#include "base/loop.h"
#include "serve/accept.h"
#include "serve/frame_read.h"
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
	struct aj_table_item named; /* by its id, in client->tasks */
	char name[AJ_NAME_ROOM];
	struct aj_client *client;
	struct aj_slot *slot;           /* NULL: it waits for room */
	json_t *id;                     /* owned */
	struct aj_query query;          /* until the jail has what it needs of it */
	struct aj_client_request *next; /* that waits, of the same client */
	int64_t since_us;               /* when it came; of a run: when it began */
	bool waiting, stream;
	bool counts;               /* as a session that will be */
	struct aj_piece pieces[2]; /* of stdout and stderr */
};

/* A jail that a client has or is about to get: a session of his, or for one snippet. */
struct aj_slot {
	struct aj_table_item named; /* in client->seats, when it is a session that is open */
	char name[32];
	struct aj_client *client;
	struct aj_session *session;
	struct aj_client_request *request; /* what it runs, or whom it will be told to */
	bool lasting, open;
	bool branching; /* it stays when its jail has ended, to be rolled back */
	const char *policy;
	struct aj_slot *next, **at; /* all of the client */
};

struct aj_client {
	struct aj_server *server;
	struct aj_client *next, **at;
	struct aj_io io;
	struct aj_quota quota;
	struct aj_timer drop;  /* set: it is being ended, and hears nothing more */
	struct aj_timer stall; /* set: something is to be sent that it does not read */
	struct aj_timer late;  /* set: a frame was begun, and must have come by then */
	int64_t since_us;      /* of a begun frame: when that was; else when it was last heard of */
	uid_t uid;
	bool dropped, closing; /* closing: nothing more is read, and the end comes when all was sent */
	int fd;
	struct aj_frame_in in;
	struct aj_buffer out;
	struct aj_table requests, sessions;
	struct aj_slot *slots;
	struct aj_client_request *waiting, **waiting_end;
	size_t waiting_count;
	bool queued; /* its turn comes */
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
	struct aj_client *line, **line_end; /* clients with requests that wait, in turn */
	uint64_t client_count, in_use, waiting, requests;
	uint64_t sessions; /* open, or asked for */
	size_t held_bytes; /* of requests that no jail has yet */
	uint64_t next_session;
	int64_t started_us;
	struct aj_session **warming; /* one for each policy, or NULL */
	bool stopping, done;
	char input[AJ_READ_BYTES];
};

void aj_server_log(const struct aj_server *server, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- client.c --- */
void aj_client_start(struct aj_server *server, int fd);
/* A frame to be composed in client->out, with {"id":... when there is one; false: nobody listens any more. */
bool aj_client_begin(struct aj_client *client, const json_t *id);
void aj_client_end(struct aj_client *client); /* ends the frame, and sends it */
void aj_client_error(struct aj_client *client, const json_t *id, const struct aj_fault *fault);
/* Ends it from the loop, so anybody may call this. `why`: for the log, NULL for nothing worth a line. */
void aj_client_drop(struct aj_client *client, const char *why);
void aj_client_free(struct aj_client *client);

/* --- work.c --- */
/* One frame's body. */
void aj_ops_request(struct aj_client *client, const char *text, size_t bytes, struct aj_scan *scan);
/* End all that the client has; nothing is answered. */
void aj_ops_abandon(struct aj_client *client);
/* The service stops: what waits is answered, sessions that run nothing end. `now`: what runs, too. */
void aj_ops_stop(struct aj_client *client, bool now);

/* --- tasks.c --- */
/* Takes the query over; it is in client->tasks until it is freed. */
struct aj_client_request *aj_client_request_new(struct aj_client *client, struct aj_query *query);
void aj_client_request_free(struct aj_client_request *request);
/* The jail has what it needs of the request. */
void aj_client_request_begun(struct aj_client_request *request);
/* Answer it with an error, and free it. */
void aj_client_request_fail(struct aj_client_request *request, const struct aj_fault *fault);
/* It waits for room: its place in the line is given up, or taken. */
void aj_client_request_wait(struct aj_client_request *request);
void aj_client_request_wait_no_more(struct aj_client_request *request);
/* Whose turn it is; NULL: nobody waits. */
struct aj_client_request *aj_client_request_next(struct aj_server *server);
/* How to find it again: "s:" and a string, or "i:" and a number. */
void aj_client_request_name(char name[AJ_NAME_ROOM], const json_t *id);

/* --- seats.c --- */
/* exec or open: now, or as soon as there is room. Takes the query over. -1 with fault. */
int aj_slot_ask(struct aj_client *client, struct aj_query *query, const char *policy, struct aj_fault *fault);
/* Let those who wait have what room there is. */
void aj_slots_fill(struct aj_server *server);
/* run or set, from the task's query. -1 with fault: the task is still there. */
int aj_slot_run(struct aj_slot *slot, struct aj_client_request *request, struct aj_fault *fault);
/* A second session from one. Takes the query over. -1 with fault. */
int aj_slot_fork(struct aj_slot *slot, struct aj_query *query, struct aj_fault *fault);
/* checkpoint or rollback, from the task's query. -1 with fault: the task is still there. */
int aj_slot_branch(struct aj_slot *slot, struct aj_client_request *request, struct aj_fault *fault);
/* End the jail; a task that it has is not answered, and stays. */
void aj_slot_close(struct aj_slot *slot);
/* What an error of the house is to a client. Always -1. */
int aj_slot_fault(struct aj_server *server, const struct aj_error *err, struct aj_fault *fault);
uint64_t aj_slot_retry_ms(const struct aj_server *server);

/* --- told.c --- */
/* What the house is given to tell a seat's client, with the seat as `arg`. */
extern const struct aj_session_events aj_slot_events;
void aj_slot_tell_ended(struct aj_slot *slot, const char *why);
