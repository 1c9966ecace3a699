/* The warm path as a client of `agentjail serve` sees it: one connection, JSON frames (docs/reference/protocol.md). */
#pragma once
#include <sys/types.h>

struct service {
	pid_t pid;
	int fd;
	char folder[32], session[80];
};

/* Starts `agentjail` with parked jails, connects, and opens a session. */
void service_start(struct service *service, const char *agentjail, unsigned depth);
void service_end(struct service *service);
/* From a request to its answer, in microseconds. */
double service_ping(struct service *service);
double service_exec(struct service *service, const char *code); /* `code`: nothing that JSON would escape */
double service_run(struct service *service, const char *code);
