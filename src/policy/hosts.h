/* The rules of network.allow, parsed: a name, the names below one, addresses, or the host's loopback, each with one port.
 * Whether an address that a name leads to is public is not checked here: see network/inspect/address.h. */
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
/* Parse a server that a site configures, `host:port`: a name or an address, also 127.0.0.1 or localhost of the host. */
const char *aj_host_server_parse(const char *text, struct aj_host_rule *ret);
/* Whether the name (lower case, no final dot) is reserved for the host's loopback: only LOOPBACK rules match it. */
bool aj_host_is_loopback_name(const char *name);
/* Whether an item of network.allow can have this name. False for names that programs parse as addresses, such as 127.1, which a
 * DNS question can contain. */
bool aj_host_can_be_named(const char *name);

/* Whether the rule allows this name (lower case, no final dot) at this port; at any port. */
bool aj_host_rule_has_name(const struct aj_host_rule *rule, const char *name, uint16_t port);
bool aj_host_rule_has_some_port(const struct aj_host_rule *rule, const char *name);
/* Whether the rule contains this address (in_addr, in6_addr). Only LOOPBACK contains addresses of the host's loopback, 127.0.0.1
 * and ::1. IPv4-mapped addresses are treated as IPv4. */
bool aj_host_rule_has_address(const struct aj_host_rule *rule, int family, const void *address, uint16_t port);
