/* Resolves the destination of a connect, and decides whether a jail may connect to it. */
#pragma once
#include <sys/socket.h>

#include "policy/plan/plan.h"
#include "policy/seccomp/notify.h"
#include "sandbox/mediate/socket_holders.h"
#include "sandbox/mounts/named_sockets.h"

enum { AJ_SCRATCH_MAX = 8 };

/* The jail as the connector knows it. */
struct aj_reach {
	const struct aj_named_sockets *named;
	struct aj_holders holders;
	int listener_fd;
	bool own_network;              /* the jail has a network namespace of its own */
	dev_t scratch[AJ_SCRATCH_MAX]; /* devices of the file systems in which only the jail can create files */
	size_t scratch_count;
};

/* Duplicates, which the caller cannot change. */
struct aj_endpoint {
	int socket;
	int path; /* O_PATH of the socket file to connect to; -1: use `address` */
	union {
		struct sockaddr_storage any;
		char bytes[sizeof(struct sockaddr_storage)];
	} address;
	socklen_t address_bytes;
};

/* The connect is not allowed. */
enum { AJ_ENDPOINT_REFUSED = -1 };

/* 0: the connect is allowed; an errno that the kernel would return; or AJ_ENDPOINT_REFUSED, also for lack of capabilities. Check
 * afterwards that the call still waits: only then the endpoint is the caller's. */
int aj_endpoint_find(struct aj_reach *reach, const struct aj_notification *call, struct aj_endpoint *ret);
void aj_endpoint_close(struct aj_endpoint *e);

/* The caller's arguments, for calls that this process makes on its behalf; rights in effect. A duplicate of the descriptor in
 * argument 0: 0, EBADF, or AJ_ENDPOINT_REFUSED. */
int aj_endpoint_fetch(const struct aj_reach *reach, const struct aj_notification *call, int *ret_fd);
/* The bytes at the address in argument `index`: 0, EFAULT, or AJ_ENDPOINT_REFUSED. */
int aj_endpoint_read(const struct aj_notification *call, int index, void *out, size_t bytes);

/* Keep CAP_SYS_PTRACE and CAP_NET_ADMIN in the jail's user namespace, effective or permitted only, and drop all others. */
int aj_endpoint_rights(bool in_effect);
