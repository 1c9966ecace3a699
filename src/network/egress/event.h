/* What the relay and the supervisor share: the sockets, the relay's events, and the answers to its questions. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sockets for IPv4 and IPv6; -1: none. The DNS sockets are bound to the addresses in the jail's resolv.conf; those of TCP and the
 * listeners listen. A redirection in the jail's namespace leads all ports to a listener, or it is bound to one port. */
struct aj_egress_sockets {
	int dns_udp[2], dns_tcp[2], listener[2];
};

enum {
	AJ_EGRESS_ADVICE_BYTES = 720,
	AJ_EGRESS_CONNECTIONS_MAX = 4096, /* of one relay, whatever the policy says */
};

enum aj_egress_kind {
	AJ_EGRESS_REFUSED, /* a name, or a connection, that the policy does not allow: a violation */
	AJ_EGRESS_FAILED,  /* allowed, and not made: its name did not resolve, no host answered */
	AJ_EGRESS_CLOSED,  /* a connection that was made, and has ended */
	AJ_EGRESS_LOST,    /* the relay ends itself by an error: every later connection fails */
	AJ_EGRESS_ASKED,   /* connections to `name` and `port`, which are not on the list, wait for aj_egress_answer() */
};

/* The same refusal within a second is one event with a count. `why` is a clause without a subject, as in "NAME: WHY". */
struct aj_egress_event {
	uint32_t kind, count;
	uint32_t id;      /* of a question */
	uint16_t port;    /* 0: a DNS query */
	bool unlisted;    /* of a refusal: the policy's list lacks it; else it is on the list, and `why` is of something else */
	uint32_t lookups; /* of a refused connection: refused look-ups of this name that it follows, reported before */
	char name[256];   /* as the jail asked, in lower case; "": by address */
	char address[46]; /* that the relay connected to, or the jail meant; "": none */
	char why[200];
	uint64_t bytes_out, bytes_in;
	int64_t opened_us, lasted_us; /* aj_now_us() */
};

/* Advice on a refusal, for the program: a sentence. With the host and the reason before it, it is all that the program gets where
 * its protocol has room for a text. Printable ASCII, truncated where it does not fit. */
void aj_egress_advice(const struct aj_egress_event *event, char *out, size_t out_bytes);
void aj_egress_refusal_text(const struct aj_egress_event *event, char *out, size_t out_bytes);

enum aj_egress_verdict { AJ_EGRESS_DENY, AJ_EGRESS_ONCE, AJ_EGRESS_RUN };
struct aj_egress_answer {
	uint32_t id, verdict;
	char why[200];
};
