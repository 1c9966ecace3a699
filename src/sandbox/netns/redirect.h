/* Redirects the TCP connections of a network namespace to one listener, by nftables. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* In the calling process's network namespace, over which it needs CAP_NET_ADMIN. The listener's address and port are those of
 * policy/plan/egress.h. Where its sockets are `transparent` (IP_TRANSPARENT) and the kernel can, connections are handed to it as they are: they are
 * not tracked, and each is bound to the address and port that were meant. 1: so it is; 0: by NAT, so SO_ORIGINAL_DST tells them. */
int aj_redirect_tcp(bool transparent, struct aj_error *err);
