/* The items of network.publish, parsed: a port of the host, the address that it is opened on, and the jail's port behind it.
 * Whether the port is free is not checked here. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct aj_publish_rule {
	int family;          /* AF_INET or AF_INET6 */
	uint8_t address[16]; /* of the host: 4 bytes of it for AF_INET */
	bool loopback;       /* an address that only this host reaches */
	uint16_t port, guest_port;
};

/* [HOST:]PORT[:GUESTPORT]; NULL, or the error in it. */
const char *aj_publish_rule_parse(const char *text, struct aj_publish_rule *ret);
/* "127.0.0.1:8080" or "[::1]:8080": the place on the host. */
enum { AJ_PUBLISH_TEXT = 64 };
void aj_publish_rule_place(const struct aj_publish_rule *rule, char out[AJ_PUBLISH_TEXT]);
