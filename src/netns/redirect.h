/* Leads the TCP connections of a network namespace to one listener, by nftables. */
#pragma once
#include "base/error.h"

/* In the calling process's network namespace, over which it needs CAP_NET_ADMIN. The listener's address and port are those of
 * plan/egress.h. */
int aj_redirect_tcp(struct aj_error *err);
