/* What a service manager and a service say to each other: sockets that are handed over, and datagrams about our state. */
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

/* What the variables LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES (each may be NULL) say to process `pid`. False: nonsense. */
bool aj_listen_fds_parse(const char *listen_pid, const char *listen_fds, const char *names, int64_t pid, struct aj_listen_fds *ret);

/* WATCHDOG_USEC and WATCHDOG_PID (each may be NULL): how often to give a sign of life, half of what is asked; 0: never. */
int64_t aj_watchdog_us(const char *watchdog_usec, const char *watchdog_pid, int64_t pid);

/* Send `state` to the socket `path` (NOTIFY_SOCKET; NULL: nobody asked): a file, or `@` and an abstract name. 0, or -1 with errno. */
int aj_sd_notify(const char *path, const char *state);
