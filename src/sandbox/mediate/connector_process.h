/* The connector process's own code, for connector.c alone.
 * It makes the calls that the filter reports, and runs no code of the jail's. */
#pragma once
#include "policy/plan/plan.h"
#include "policy/seccomp/notify.h"
#include "sandbox/mounts/named_sockets.h"

/* The jail whose calls are made. */
struct aj_caller {
	pid_t init_pid;
	int listener_fd;
	const char *leaf; /* its cgroup, or "" */
	const struct aj_named_sockets *named;
};

/* Join the namespaces of the caller of `first`, send one byte over `socket`, and make the calls that it gets. Ends with
 * `parent`. */
_Noreturn void aj_connector_run(const struct aj_plan *plan, const struct aj_caller *jail, const struct aj_notification *first,
                                int socket, pid_t parent);
