/* The way out of a jail whose network is an allow-list: the relay, one process for each jail, outside of the jail, which takes over the
 * sockets that were made in the jail's network namespace before its guest started.
 *
 *   guest ──► DNS socket     the relay answers each name with a synthetic address of its own (network/resolve/names.h)
 *   guest ──► listener       the relay finds the name by that address. One of the list: it checks the first bytes, resolves the name
 *                            itself, connects to the address that it checked, and moves bytes. Another one: it says why, and closes
 *   relay ──► supervisor     each refusal and each connection that ended, as one struct aj_egress_event; the others in shared memory
 *
 * The relay is of our code alone, but foreign bytes come near it. So it has a filter of its own (policy/seccomp/relay.c), no capability, no file
 * but those that say how names are resolved, and no descriptor but these sockets. A relay that dies opens no way: its sockets close. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "network/helper/helper.h"
#include "policy/policy.h"

/* IPv4, IPv6; -1: none. The DNS sockets are bound to the addresses that the jail's resolv.conf names; those of TCP and the listeners
 * listen. A listener takes the connections of all ports by a redirection in the jail's namespace, or those of the port that it is bound to. */
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
	uint32_t id;   /* of a question */
	uint16_t port; /* 0: a DNS query */
	bool unlisted; /* of a refusal: the policy's list lacks it; else it is on the list, and `why` is of something else */
	uint32_t lookups; /* of a refused connection: refusals of this name's look-ups, reported before, of which it is the continuation */
	char name[256];   /* as the jail asked, in lower case; "": by address */
	char address[46]; /* that the relay connected to, or the jail meant; "": none */
	char why[200];
	uint64_t bytes_out, bytes_in;
	int64_t opened_us, lasted_us; /* aj_now_us() */
};

/* Advice on a refusal, for the program: a sentence. With the host and the reason before it: the whole text that the program gets where
 * its protocol has room for one. Printable ASCII, cut where it does not fit. */
void aj_egress_advice(const struct aj_egress_event *event, char *out, size_t out_bytes);
void aj_egress_sentence(const struct aj_egress_event *event, char *out, size_t out_bytes);

/* Start the relay, and wait until its walls stand; aj_helper_end() ends it. The sockets are duplicated: the caller closes its own. Thread-safe as fork(). */
int aj_egress_start(struct aj_helper *e, const struct aj_policy *policy, const struct aj_egress_sockets *sockets, struct aj_error *err);
/* Does not wait. 1; 0: the relay is gone, or has ended after aj_egress_stop(); -1: none now. A relay whose reports are not read takes no
 * further connection until they are. */
int aj_egress_read(struct aj_helper *e, struct aj_egress_event *ret);
/* To AJ_EGRESS_ASKED, once: let what waits through, alone (ONCE) or with all later connections to that name and port (RUN), or refuse it;
 * `why` is for a refusal. An answer that cannot be sent ends the relay. */
enum aj_egress_verdict { AJ_EGRESS_DENY, AJ_EGRESS_ONCE, AJ_EGRESS_RUN };
struct aj_egress_answer {
	uint32_t id, verdict;
	char why[200];
};
void aj_egress_answer(struct aj_helper *e, const struct aj_egress_answer *answer);
/* Stop the relay: it forwards nothing more, sends its last reports, closes its end of the socket, resets open connections and exits.
 * aj_egress_next_unsent() returns these connections. */
void aj_egress_stop(const struct aj_helper *e);
/* Iterate over connections whose end the relay has not reported, from `*at` = 0: final figures once the relay has stopped, was killed or has
 * exited; else the current ones. ret_open: the connection is open. False: no more. */
bool aj_egress_next_unsent(const struct aj_helper *e, bool lives, size_t *at, struct aj_egress_event *ret, bool *ret_open);
