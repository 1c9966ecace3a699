/* The rules of network.allow, parsed: a name, the names below one, addresses, or the host's loopback, each with one port.
 * Whether an address that a name leads to is public is not judged here: see inspect/address.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum aj_host_kind { AJ_HOST_NAME, AJ_HOST_BELOW, AJ_HOST_NETWORK, AJ_HOST_LOOPBACK };

struct aj_host_rule {
	enum aj_host_kind kind;
	uint16_t port;
	char name[254];      /* lower case, no final dot; of BELOW without `*.`; "host" of LOOPBACK */
	int family;          /* of NETWORK: AF_INET or AF_INET6 */
	uint8_t address[16]; /* 4 bytes of it for AF_INET */
	unsigned bits;       /* of the prefix; all of the address: one host */
};

/* An item of network.allow; NULL, or the error in it. */
const char *aj_host_rule_parse(const char *text, struct aj_host_rule *ret);
/* A server that a site names, `host:port`: a name or an address, also the host's own loopback by 127.0.0.1 or localhost. */
const char *aj_host_server_parse(const char *text, struct aj_host_rule *ret);
/* Is that name (lower case, no final dot) reserved for the host's loopback? No rule but one of LOOPBACK has it. */
bool aj_host_is_loopback_name(const char *name);
/* Can an item of network.allow name it, as a name? Not one that programs read as an address, such as 127.1, which a DNS question may hold. */
bool aj_host_can_be_named(const char *name);

/* Does the rule allow this name (lower case, no final dot) at this port; at a port of its own? */
bool aj_host_rule_has_name(const struct aj_host_rule *rule, const char *name, uint16_t port);
bool aj_host_rule_has_some_port(const struct aj_host_rule *rule, const char *name);
/* Does the rule write this address (in_addr, in6_addr) out? Of the host's loopback LOOPBACK alone does, 127.0.0.1 and ::1. An IPv4 address in IPv6's form is looked at as itself. */
bool aj_host_rule_has_address(const struct aj_host_rule *rule, int family, const void *address, uint16_t port);
