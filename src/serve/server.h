/* The service: one socket, many clients, jails from a house. */
#pragma once
#include "base/error.h"
#include "policy/load.h"
#include "serve/sd_notify.h"

struct aj_server_config {
	const char *socket;       /* path; not looked at when a socket was handed over */
	bool socket_given;        /* somebody asked for that path, so a socket that was handed over contradicts */
	const char *metrics;      /* path or loopback address; NULL: none */
	struct aj_listen_fds fds; /* what was handed over */
	const char *notify;       /* where state is told, NULL: to nobody */
	int64_t watchdog_us;      /* how often to give a sign of life; 0: never */

	const struct aj_ask *policies; /* the first one is the default */
	size_t policy_count;
	const char *site, *rootfs, *cgroup;

	uint64_t parked;    /* jails ready, for each policy and tenant */
	uint64_t jails_max; /* in use at a time; those that are parked come on top */
	uint64_t sessions_max;
	uint64_t queue_max; /* requests that wait for a jail; of one client, half of them */
	uint64_t clients_max, pools_max;
	uint64_t request_bytes, unread_bytes;
	uint64_t request_ms;           /* how long the frame of a request may take to come */
	uint64_t idle_ms, lifetime_ms; /* of a session; 0: no limit */
	uint64_t grace_ms;             /* how long what runs may go on when we are to stop */

	void (*log)(void *arg, const char *line); /* one line, without its newline */
	void *log_arg;
};

/* Serve until a signal says to stop. 0, or -1 with err when it could not begin. */
int aj_server_run(const struct aj_server_config *config, struct aj_error *err);
