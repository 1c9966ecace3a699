/* The service's data: the server, its clients, their sessions and the requests under way; and the functions that its files share.
 * The sections are in order from bottom to top: a file calls only functions of the sections above its own; calls in the other
 * direction are hooks. */
#pragma once
#include <sys/queue.h>

#include "base/error.h"
#include "base/frame.h"
#include "base/json/scan.h"
#include "base/loop/loop.h"
#include "service/metrics/http.h"
#include "service/metrics/metrics.h"
#include "service/protocol/piece.h"
#include "service/protocol/query.h"
#include "service/service_config.h"
#include "service/sockets/accept.h"
#include "service/sockets/send.h"
#include "session/manager.h"

enum { AJ_READ_BYTES = 64 << 10, AJ_LABEL_BYTES = 24 };

/* Has one turn in the queue and a share of the jails: a named tenant, or one connection's requests without a tenant. */
struct aj_party {
	const char *tenant; /* owned; NULL: a connection */
	LIST_ENTRY(aj_party) listed;
	TAILQ_ENTRY(aj_party) turn; /* while requests of it wait */
	TAILQ_HEAD(, aj_client_request) waiting;
	uint64_t waiting_count;
	uint64_t jails, idle, awaiting; /* all, those of idle sessions, those of runs that wait for a tool */
	size_t queued_bytes;            /* of its requests that wait for a jail */
	uint64_t sessions;              /* open or requested */
	uint64_t references;            /* of requests and slots */
};

/* A request that is not answered yet. */
struct aj_client_request {
	LIST_ENTRY(aj_client_request) of_client;
	TAILQ_ENTRY(aj_client_request) turn; /* while it waits */
	struct aj_client *client;
	struct aj_party *party; /* NULL: it asks for no jail */
	struct aj_slot *slot;   /* NULL: the request waits for a jail */
	json_t *id;             /* owned */
	struct aj_query query;  /* freed when the jail has the parts that it needs */
	int64_t since_us;       /* when the request arrived; of a run: when it began */
	bool waiting, stream;
	bool counts;               /* in server->sessions, until its slot does */
	struct aj_timer overdue;   /* armed while the request waits for a jail */
	struct aj_piece pieces[2]; /* of stdout and stderr */
};

/* A jail that a client has or is about to get: for a session, or for one snippet. */
struct aj_slot {
	LIST_ENTRY(aj_slot) of_client;
	char name[32]; /* of an open session */
	struct aj_client *client;
	struct aj_party *party;
	struct aj_session *session;
	struct aj_client_request *request; /* the request that it runs or that waits for it to open */
	bool lasting, open;
	bool brief; /* results are brief, see jail/result/result_members.c */
	int64_t since_us;
	bool filling; /* the files that came with `open` are being written, or its seed is set */
	const char *policy;
};

struct aj_client {
	struct aj_server *server;
	LIST_ENTRY(aj_client) of_server;
	struct aj_io io;
	struct aj_quota quota;
	struct aj_timer drop;  /* set: the client is being freed, and is sent nothing more */
	struct aj_timer stall; /* set: output waits that the client does not read */
	struct aj_timer late;  /* set: deadline of the frame that has begun */
	int64_t since_us;      /* when the unfinished frame began; without one: when the client last sent bytes */
	uid_t uid;
	bool settled;     /* this process serves it to its end: its first jail was asked for here */
	const char *rest; /* while a frame is carried out: the input behind it */
	size_t rest_bytes;
	bool dropped, closing; /* closing: no more input is read, and the client is dropped when all output is sent */
	int fd;
	struct aj_frame_reader in;
	struct aj_scan scan; /* over the part of the frame that has arrived */
	struct aj_buffer out;
	LIST_HEAD(, aj_slot) slots;
	LIST_HEAD(, aj_client_request) requests;
	size_t waiting_count; /* of these */
	struct aj_party party;
};

struct aj_server {
	const struct aj_server_config *config;
	struct aj_loop *loop;
	struct aj_manager *manager;
	struct aj_acceptor accept;
	struct aj_io signals;
	struct aj_io front; /* of a shard; see shard.c */
	struct aj_timer publish;
	uint64_t published[AJ_GAUGES]; /* the last ones */
	bool just_published;
	void (*on_stop)(struct aj_server *server); /* the front says so */
	struct aj_io owner;                        /* the process at the other end of config->connection */
	struct aj_timer watchdog, grace, flush, warm_up;
	struct aj_metrics_http *http;
	struct aj_metrics metrics;
	/* A frame's body, which `scan` has been fed. */
	void (*on_frame)(struct aj_client *client, const char *text, size_t bytes, struct aj_scan *scan);
	void (*on_closed)(struct aj_client *client); /* the client is being freed */
	const struct aj_session_events *on_slot;     /* of the sessions of slots; a slot is the argument */
	LIST_HEAD(, aj_client) clients;
	LIST_HEAD(, aj_party) tenants;
	TAILQ_HEAD(, aj_party) queue; /* those with waiting requests, in turn */
	uint64_t client_count, waiting, requests;
	uint64_t in_use, idle, awaiting; /* jails: all, those of idle sessions, those of runs that wait for a tool */
	uint64_t sessions;               /* open or requested */
	struct {
		uint64_t count, sum_us;
	} sessions_ended;    /* count and total duration */
	size_t queued_bytes; /* of requests that wait for a jail */
	uint64_t next_session;
	int64_t started_us;
	struct aj_session **warming; /* one for each policy, or NULL; see warm_up.c */
	bool stopping, done;
	char input[AJ_READ_BYTES];
};

/* --- state.c --- */
/* The exhausted limit of a busy answer. */
enum aj_room {
	AJ_ROOM_CLIENTS,
	AJ_ROOM_SESSIONS,
	AJ_ROOM_TENANT,
	AJ_ROOM_JAILS,
	AJ_ROOM_TENANT_JAILS,
	AJ_ROOM_QUEUE,
	AJ_ROOM_BYTES,
	AJ_ROOM_RUN,
};
/* Set AJ_CODE_BUSY with its fix and an estimated retry time. Always returns -1. */
int aj_server_busy(const struct aj_server *server, struct aj_fault *fault, enum aj_room room, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The current values of this process. */
void aj_server_gauges(const struct aj_server *server, uint64_t ret_gauges[AJ_GAUGES]);
/* An error of the session manager, for clients. Always returns -1. */
int aj_server_fault(const struct aj_server *server, const struct aj_error *err, struct aj_fault *fault);

/* --- client.c --- */
/* A connection that is not watched yet. */
struct aj_client *aj_client_new(struct aj_server *server, int fd);
/* Wait for its input and output, as far as there is reason to. */
void aj_client_watch(struct aj_client *client);
/* Begin a frame in client->out, with {"id":... if there is an id; false: the client is being dropped. */
bool aj_client_begin(struct aj_client *client, const json_t *id);
void aj_client_end(struct aj_client *client); /* end the frame and send it */
/* A frame of one answer, {"id":...,"result":...}. */
void aj_client_result(struct aj_client *client, const json_t *id, const json_t *result);
void aj_client_result_text(struct aj_client *client, const json_t *id, const struct aj_buffer *result);
void aj_client_error(struct aj_client *client, const json_t *id, const struct aj_fault *fault);
/* Has a frame begun and not ended? */
bool aj_client_in_frame(const struct aj_client *client);
/* End the client with an error, as far as the socket takes it at once. */
void aj_client_expel(struct aj_client *client, const struct aj_fault *fault);
/* Free the client from the loop, so any code may call this. `why`: for the log; NULL: not logged. */
void aj_client_drop(struct aj_client *client, const char *why);
void aj_client_free(struct aj_client *client);

/* Bytes that arrived. */
void aj_client_feed(struct aj_client *client, const char *input, size_t bytes);

/* --- shard.c --- */
/* Are the tenant's jails in this process? */
bool aj_shard_is_home(const struct aj_server *server, const char *tenant);
/* The first request for a jail: if its tenant belongs to another shard, the connection is passed there, with this frame and
 * client->rest, and dropped here. False: it is served here. */
bool aj_shard_give_away(struct aj_client *client, const char *tenant, const char *body, size_t bytes);
int aj_shard_begin(struct aj_server *server, struct aj_error *err);
/* After a turn of the loop, in which numbers may have changed. No effect where there are no shards. */
void aj_shard_publish_soon(struct aj_server *server);
/* Let the front see that the loop turns. */
void aj_shard_beat(const struct aj_server *server);
/* Add what the other shards have published. */
void aj_shard_add_others(const struct aj_server *server, uint64_t gauges[AJ_GAUGES], uint64_t *runs);

/* --- admit.c --- */
/* Serve the connection, or refuse it. Takes ownership of fd. */
void aj_client_admit(struct aj_server *server, int fd);
/* The same for a connection that another shard has admitted and greeted, with the bytes that came over it. */
void aj_client_adopt(struct aj_server *server, int fd, const char *bytes, size_t count);

/* --- queue.c --- */
/* The party of the client's requests with this tenant (NULL: none), with one more reference. */
struct aj_party *aj_party_get(struct aj_client *client, const char *tenant);
void aj_party_release(struct aj_party *party);
/* Jails that the party may have at a time. */
uint64_t aj_party_share(const struct aj_server *server, const struct aj_party *party);
/* Count the slot, if it is an idle session's, once more (1) or no longer (-1). */
void aj_party_count_idle(const struct aj_slot *slot, int change);
void aj_queue_add(struct aj_client_request *request);
/* Remove a request that ends while it waits: that costs its party no turn. */
void aj_queue_remove(struct aj_client_request *request);
/* The next request whose party may have one more jail; NULL: none. */
struct aj_client_request *aj_queue_next(const struct aj_server *server);
/* Remove the next request, for a jail: its party goes to the end. */
void aj_queue_take(struct aj_client_request *request);

/* --- requests.c --- */
/* Takes ownership of the query; the request is in client->requests until it is freed. */
struct aj_client_request *aj_client_request_new(struct aj_client *client, struct aj_query *query);
/* NULL: no request of that id is under way. */
struct aj_client_request *aj_client_request_find(const struct aj_client *client, const json_t *id);
void aj_client_request_free(struct aj_client_request *request);
/* The jail has the parts of the query that it needs: free it. */
void aj_client_request_drop_query(struct aj_client_request *request);
/* Answer the request with a result or an error, and free it. */
void aj_client_request_answer(struct aj_client_request *request, const json_t *result);
void aj_client_request_fail(struct aj_client_request *request, const struct aj_fault *fault);
/* An id as errors quote it; in `room`, or the id's own text. */
const char *aj_client_request_label(const json_t *id, char room[AJ_LABEL_BYTES]);

/* --- slots.c --- */
/* The client's open session of that name. NULL with fault. */
struct aj_slot *aj_slot_find(const struct aj_client *client, const char *name, struct aj_fault *fault);
/* run or set, from the request's query. Returns -1 with fault: the request remains. */
int aj_slot_run(struct aj_slot *slot, struct aj_client_request *request, struct aj_fault *fault);
/* checkpoint or rollback, from the request's query. Returns -1 with fault: the request remains. */
int aj_slot_branch(struct aj_slot *slot, struct aj_client_request *request, struct aj_fault *fault);
/* Tell the client of the session's end, if it has heard of its beginning. */
void aj_slot_notify_ended(struct aj_slot *slot, const char *why);
/* End the jail; its request remains, and gets no answer. */
void aj_slot_close(struct aj_slot *slot);

/* --- jails.c --- */
/* exec or open: now, or as soon as jails_max allows. Takes ownership of the query. Returns -1 with fault. */
int aj_slot_open(struct aj_client *client, struct aj_query *query, const char *policy, struct aj_fault *fault);
/* Fork a session. Takes ownership of the query. Returns -1 with fault. */
int aj_slot_fork(struct aj_slot *slot, struct aj_query *query, struct aj_fault *fault);
/* Open jails for waiting requests while jails_max allows. */
void aj_slots_fill(struct aj_server *server);

/* --- event_frames.c --- */
extern const struct aj_session_events aj_slot_events;

/* --- ops.c --- */
/* Carry out one frame's body. */
void aj_ops_request(struct aj_client *client, const char *text, size_t bytes, struct aj_scan *scan);
/* End the client's jails and requests, without answers; others then get their turn. */
void aj_ops_abandon(struct aj_client *client);
/* The service stops: fail waiting requests, and end sessions that run nothing; with `now` also those that run. */
void aj_ops_stop(struct aj_client *client, bool now);

/* --- warm_up.c --- */
/* Open and close one jail of each policy; a function of server->warm_up. */
void aj_warm_up(struct aj_timer *timer);
/* End the jails that are being opened for that. */
void aj_warm_up_end(struct aj_server *server);
