/* Makes calls of a jail in its place: connects where there are socket files of the host in reach, new sizes of the jail's own terminals where
 * it has the caller's, too. A process of ours does it: a child of the supervisor
 * that joins the jail's user, mount and network namespaces, has the jail's ids and no others, and is in no PID namespace of the jail's.
 *
 * The kernel holds a connect and reports it; nobody lets it pass. The connector takes a copy of the address and of the socket, finds out
 * where they lead, and connects that socket there: what the caller changes meanwhile, memory, folders, descriptors, is not looked at twice. */
#pragma once
#include "plan/plan.h"
#include "sandbox/named_sockets.h"
#include "seccomp/notify.h"

struct aj_connector {
	int pidfd;  /* a child of ours; -1: none */
	int socket; /* struct aj_notification both ways; -1: none */
};

/* The jail whose calls these are. */
struct aj_caller {
	pid_t init_pid;
	int listener_fd;
	const char *leaf; /* its cgroup, or "" */
	const struct aj_named_sockets *named;
};

/* Waits until it has joined the namespaces of the caller of `first`, which is not answered yet. */
int aj_connector_start(struct aj_connector *c, const struct aj_plan *plan, const struct aj_caller *jail,
                       const struct aj_notification *first, struct aj_error *err);
/* A call that waits; it is answered there, or comes back. -1 with errno: it was not taken (EAGAIN: too many wait). */
int aj_connector_give(struct aj_connector *c, const struct aj_notification *call);
/* 1 a call that is to be refused, 0 the connector is gone, -1 nothing there. */
int aj_connector_back(struct aj_connector *c, struct aj_notification *ret);
/* Ends it and all that still wait, and does not wait for that: a jail that goes on could make it last. */
void aj_connector_kill(struct aj_connector *c);
/* End it, wait until it is gone, and forget it. The jail's processes must be gone. */
void aj_connector_end(struct aj_connector *c);
