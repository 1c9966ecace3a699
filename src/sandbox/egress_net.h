/* The jail's side of a network by allow-list: addresses, routes, and the sockets that the relay serves. */
#pragma once
#include "plan/egress.h"
#include "sandbox/jail_steps.h"

/* Every address of the network namespace leads to sockets that are made here and handed to the supervisor, none of which stays open.
 * It returns when the supervisor has started the relay; -1 with err. Needs CAP_NET_ADMIN and CAP_NET_BIND_SERVICE over the namespace. */
int aj_egress_net(struct aj_steps *w, struct aj_error *err);
