/* The addresses of a jail's network by allow-list, all of them in the jail's own network namespace alone.
 * 198.18.0.0/15 is set aside for measurements (RFC 2544) and fd00::/8 for private networks, so no public service uses them. */
#pragma once

/* Of interface lo, of the DNS server and of the listener that every other connection is led to. */
#define AJ_EGRESS_V4 "198.18.0.1"
#define AJ_EGRESS_V6 "fd00:a9e7::1"
/* Below 1024, where the guest can bind no port: a server of the guest's on every address keeps any port that it asks for. */
enum { AJ_EGRESS_PORT = 1, AJ_EGRESS_DNS_PORT = 53 };
/* /etc/resolv.conf of the jail. Programs that are refused look into it when they wonder about their network. */
#define AJ_EGRESS_RESOLV                                                                                  \
	"nameserver " AJ_EGRESS_V4 "\n"                                                                   \
	"# agentjail: hosts that the policy's network.allow does not name are refused: TLS by the alert " \
	"access_denied, HTTP by a 403 that\n# says why.\n"
/* The other addresses of these ranges stand for names, one for each. */
#define AJ_EGRESS_NAMES_V4 "198.18.0.0"
#define AJ_EGRESS_NAMES_V6 "fd00:a9e7::"
enum { AJ_EGRESS_NAMES_V4_BITS = 15, AJ_EGRESS_NAMES_V6_BITS = 64 };

/* The sockets that init makes and the relay serves, in this order for each family; -1: the host has no such family. */
enum aj_egress_socket { AJ_EGRESS_DNS_UDP, AJ_EGRESS_DNS_TCP, AJ_EGRESS_LISTENER, AJ_EGRESS_SOCKETS };
