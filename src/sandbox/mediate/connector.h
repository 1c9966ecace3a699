/* Makes connects on a jail's behalf, where socket files of the host are in reach. The connector is a child of the supervisor that
 * joins the jail's user, mount and network namespaces, has only the jail's ids, and is not in its PID namespace.
 * The filter suspends and reports each connect; none is continued. The connector duplicates the socket, copies the address,
 * resolves the destination, and connects the duplicate: later changes by the caller have no effect. */
#pragma once
#include "sandbox/mediate/connector_process.h"

struct aj_connector {
	int pidfd;  /* a child of ours; -1: none */
	int socket; /* struct aj_notification both ways; -1: none */
};

/* Start the connector, and wait until it has joined the namespaces of the caller of `first`, which is not answered yet. */
int aj_connector_start(struct aj_connector *c, const struct aj_plan *plan, const struct aj_caller *jail,
                       const struct aj_notification *first, struct aj_error *err);
/* Hand over a held call; the connector answers it or returns it. -1 with errno: not taken (EAGAIN: too many are pending). */
int aj_connector_give(struct aj_connector *c, const struct aj_notification *call);
/* 1: a call that must be refused; 0: the connector is gone; -1: none now. */
int aj_connector_back(struct aj_connector *c, struct aj_notification *ret);
/* Kill the connector and all pending connects, without waiting: a running jail could delay the end. */
void aj_connector_kill(struct aj_connector *c);
/* End the connector and reap it. The jail's processes must be gone. */
void aj_connector_end(struct aj_connector *c);
