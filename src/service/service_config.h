/* The configuration of a service, and of the processes that make it up. */
#pragma once
#include "policy/load/load.h"
#include "service/sockets/sd_notify.h"

struct aj_board;

/* One of several processes that serve the clients of one service, each those of some tenants (service/front/front.h). */
struct aj_shard {
	unsigned index, count;
	int front; /* SOCK_SEQPACKET to the process that started it */
	void (*on_ready)(const struct aj_shard *shard);
	struct aj_board *board;
};

struct aj_server_config {
	const char *socket;       /* path; ignored when a socket was inherited */
	bool socket_given;        /* --socket was given, so an inherited socket is an error */
	uint64_t shards;          /* processes that serve clients; for service/front/ */
	struct aj_shard *shard;   /* this process is one of them; NULL: it is the whole service */
	int connection;           /* serve this connected socket alone, and listen nowhere; -1: listen. Owned from the start on */
	const char *metrics;      /* path or loopback address; NULL: none */
	struct aj_listen_fds fds; /* inherited sockets (socket activation) */
	const char *notify;       /* NOTIFY_SOCKET; NULL: none */
	int64_t watchdog_us;      /* interval of watchdog notifications, of a shard to the front; 0: none */

	const struct aj_ask *policies; /* the first one is the default */
	size_t policy_count;
	const char *site, *rootfs, *cgroup;

	uint64_t parked;    /* jails kept ready, for each policy and tenant */
	uint64_t jails_max; /* in use at a time; parked jails come on top */
	uint64_t sessions_max;
	uint64_t tenant_sessions; /* open sessions of one named tenant; 0: half of sessions_max */
	uint64_t queue_max;       /* requests that wait for a jail; at most half of one client */
	uint64_t queue_ms;        /* how long a request waits for a jail; 0: no limit */
	uint64_t clients_max, pools_max;
	uint64_t request_bytes, unread_bytes;
	uint64_t request_ms;           /* time limit for a request's frame to arrive */
	uint64_t idle_ms, lifetime_ms; /* of a session; 0: no limit */
	uint64_t grace_ms;             /* how long runs may go on after a signal to stop */

	void (*log)(void *arg, const char *line); /* one line, without its newline */
	void *log_arg;
};

/* The messages between the front and its shards. AJ_SHARD_CONNECTION comes with two descriptors: the connection, and a file with
 * the `bytes` that were read from it. */
enum aj_shard_order {
	AJ_SHARD_NONE,       /* a malformed message */
	AJ_SHARD_STOP,       /* to a shard, for each signal that the front gets */
	AJ_SHARD_CONNECTION, /* to the front, for shard `to`; and from there to that shard */
};
struct aj_shard_message {
	uint32_t order, to;
	uint64_t bytes;
};
