/* Redirects the TCP connections of a network namespace to one listener, by nftables. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* In the calling process's network namespace, over which it needs CAP_NET_ADMIN. The listener's address and port are those of
 * policy/plan/egress_addresses.h. Where its sockets are `transparent` (IP_TRANSPARENT) and the kernel can, it gets connections
 * untracked, each bound to the address and port that were meant: 1. Else by NAT, and SO_ORIGINAL_DST has these: 0. */
int aj_redirect_tcp(bool transparent, struct aj_error *err);
