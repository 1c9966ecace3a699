/* Classes of IP addresses: which addresses are not part of the public internet, though a name may resolve to them.
 * Pure tables: no interface, route or file is read, so the caller has to check for the host's own public addresses. */
#pragma once
#include <stdint.h>

/* NULL: a public address. Else its class, for a sentence: "loopback", "private", "link-local", "metadata", ... `address` is an
 * in_addr or in6_addr by `family`; every other family is refused. An IPv4 address within an IPv6 address is judged as itself. */
const char *aj_address_refused(int family, const void *address);
/* The IPv4 address that an IPv6 address of a translator or a tunnel holds, or NULL. */
const uint8_t *aj_address_within(const uint8_t address[16]);
