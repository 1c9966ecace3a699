/* The rules of network.allow, parsed: a name, the names below one, or addresses, each with one port.
 * Whether an address that a name leads to is public is not judged here: see inspect/address.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum aj_host_kind { AJ_HOST_NAME, AJ_HOST_BELOW, AJ_HOST_NETWORK };

struct aj_host_rule {
	enum aj_host_kind kind;
	uint16_t port;
	char name[254];      /* lower case, no final dot; of BELOW without `*.` */
	int family;          /* of NETWORK: AF_INET or AF_INET6 */
	uint8_t address[16]; /* 4 bytes of it for AF_INET */
	unsigned bits;       /* of the prefix; all of the address: one host */
};

/* An item of network.allow; NULL, or the error in it. */
const char *aj_host_rule_parse(const char *text, struct aj_host_rule *ret);

/* Does the rule allow this name (lower case, no final dot) at this port? Port 0: at any, as a DNS question has none. */
bool aj_host_rule_has_name(const struct aj_host_rule *rule, const char *name, uint16_t port);
/* Does the rule write this address (in_addr, in6_addr) out? An IPv4 address in IPv6's form is looked at as itself. Port 0: at any. */
bool aj_host_rule_has_address(const struct aj_host_rule *rule, int family, const void *address, uint16_t port);
