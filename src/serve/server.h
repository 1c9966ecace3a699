/* The service: one socket, many clients, jails from one session manager. */
#pragma once
#include "base/error.h"
#include "policyload/load.h"
#include "sockets/sd_notify.h"

struct aj_server_config {
	const char *socket;       /* path; ignored when a socket was inherited */
	bool socket_given;        /* --socket was given, so an inherited socket is an error */
	int connection;           /* serve this connected socket alone, and listen nowhere; -1: listen. Owned from the start on */
	const char *metrics;      /* path or loopback address; NULL: none */
	struct aj_listen_fds fds; /* inherited sockets (socket activation) */
	const char *notify;       /* NOTIFY_SOCKET; NULL: none */
	int64_t watchdog_us;      /* interval of watchdog notifications; 0: none */

	const struct aj_ask *policies; /* the first one is the default */
	size_t policy_count;
	const char *site, *rootfs, *cgroup;

	uint64_t parked;    /* jails kept ready, for each policy and tenant */
	uint64_t jails_max; /* in use at a time; parked jails come on top */
	uint64_t sessions_max;
	uint64_t queue_max; /* requests that wait for a jail; one client may have half of them */
	uint64_t clients_max, pools_max;
	uint64_t request_bytes, unread_bytes;
	uint64_t request_ms;           /* time limit for a request's frame to arrive */
	uint64_t idle_ms, lifetime_ms; /* of a session; 0: no limit */
	uint64_t grace_ms;             /* how long runs may go on after a signal to stop */

	void (*log)(void *arg, const char *line); /* one line, without its newline */
	void *log_arg;
};

/* Serve until SIGINT, SIGTERM or SIGQUIT. Returns 0, or -1 with err when the service could not start. */
int aj_server_run(const struct aj_server_config *config, struct aj_error *err);
