/* Checks whether an address is one of the host's own, where a connection would reach the host's own services. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Call once in a process, before its filter is installed. -1 with errno. */
int aj_own_address_open(void);
/* Asks the kernel for the route of a TCP connection to this port; 0: a connection that no rule by protocol, port or source
 * concerns. Rules by the source's port are not seen, since connect(2) chooses that port. *ret_unreachable: there is no route.
 * True where the kernel does not answer. */
bool aj_own_address(int family, const uint8_t *address, uint16_t port, bool *ret_unreachable);
