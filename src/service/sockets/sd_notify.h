/* The protocols between service manager and service: sockets that are handed over, and datagrams about our state. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_LISTEN_FIRST = 3, AJ_LISTEN_MAX = 8 };

struct aj_listen_fds {
	size_t count; /* 0: none are for us */
	struct {
		int fd;
		char name[64]; /* "" where none was given */
	} items[AJ_LISTEN_MAX];
};

/* Parse LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES (each may be NULL) for process `pid`. False: they are malformed. */
bool aj_listen_fds_parse(const char *listen_pid, const char *listen_fds, const char *names, int64_t pid,
                         struct aj_listen_fds *ret);

/* The interval of watchdog notifications, half of WATCHDOG_USEC, if WATCHDOG_PID is `pid` (each may be NULL); 0: none. */
int64_t aj_watchdog_us(const char *watchdog_usec, const char *watchdog_pid, int64_t pid);

/* Send `state` to the socket `path` (NOTIFY_SOCKET; NULL: none): a file, or `@` and an abstract name. 0, or -1 with errno. */
int aj_sd_notify(const char *path, const char *state);
