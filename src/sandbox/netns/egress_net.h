/* The jail's side of a network by allow-list: addresses, routes, and the sockets that the relay serves. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/plan/egress_addresses.h"

enum { AJ_EGRESS_FAMILIES = 2 };

/* IPv4's sockets, then IPv6's where the host has it: enum aj_egress_socket gives the order. */
struct aj_egress_made {
	int sockets[AJ_EGRESS_FAMILIES * AJ_EGRESS_SOCKETS];
	size_t count;
	bool transparent; /* connections arrive untranslated; else by NAT */
};

/* Every address of the calling process's network namespace leads to sockets that are made here; the caller owns them. -1 with
 * err: there are none. Needs CAP_NET_ADMIN and CAP_NET_BIND_SERVICE over the namespace. */
int aj_egress_net(int proc_fd, struct aj_egress_made *ret, struct aj_error *err);
