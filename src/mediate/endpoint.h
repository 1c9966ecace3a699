/* Where a connect would lead, and whether a jail may go there. */
#pragma once
#include <sys/socket.h>

#include "mediate/socket_holders.h"
#include "plan/plan.h"
#include "sandbox/named_sockets.h"
#include "seccomp/notify.h"

enum { AJ_SCRATCH_MAX = 8 };

/* What the connector knows of its jail. */
struct aj_reach {
	const struct aj_named_sockets *named;
	struct aj_holders holders;
	int listener_fd;
	bool own_network;              /* its network namespace is its own */
	dev_t scratch[AJ_SCRATCH_MAX]; /* file systems that only the jail can make anything in */
	size_t scratch_count;
	dev_t terminals; /* the file system of the jail's own pseudoterminals; 0: it has none */
};

/* Copies: nothing that the caller does changes them. */
struct aj_endpoint {
	int socket;
	int path; /* O_PATH of the socket file to connect to, or -1: `address` as it is */
	union {
		struct sockaddr_storage any;
		char bytes[sizeof(struct sockaddr_storage)];
	} address;
	socklen_t address_bytes;
};

/* Nothing may go there. */
enum { AJ_ENDPOINT_REFUSED = -1 };

/* 0: may be connected; an errno that the kernel would give; or AJ_ENDPOINT_REFUSED. Without the capabilities that it needs it refuses.
 * Whether the caller still waits is to be asked after this: only then what was found belonged to it. */
int aj_endpoint_find(struct aj_reach *reach, const struct aj_notification *call, struct aj_endpoint *ret);
void aj_endpoint_close(struct aj_endpoint *e);

/* CAP_SYS_PTRACE and CAP_NET_ADMIN in the jail's user namespace, in effect or only at hand; every other capability goes. */
int aj_endpoint_rights(bool in_effect);
