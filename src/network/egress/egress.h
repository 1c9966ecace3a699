/* The way out of a jail whose network is an allow-list: the relay, one process for each jail, outside of the jail, which takes
 * over the sockets that were made in the jail's network namespace before its guest started.
 *
 *   guest ──► DNS socket     the relay answers each name with a synthetic address of its own (network/resolve/names.h)
 *   guest ──► listener       the relay finds the name by that address. If the name is listed, it checks the first bytes, resolves
 *                            the name itself, connects to the address that it checked, and forwards bytes; else it refuses
 *   relay ──► supervisor     refusals and ended connections, each as a struct aj_egress_event; open connections in shared memory
 *
 * The relay runs only our code, but reads untrusted bytes. So it has a filter of its own (policy/seccomp/relay_filter.c),
 * no capability, no file except those that configure name resolution, and no descriptor except these sockets. If it dies, they
 * close. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "network/egress/event.h"
#include "network/helper/helper.h"
#include "policy/policy.h"

/* Start the relay, and wait until its walls stand; aj_helper_end() ends it. The sockets are duplicated: the caller closes its
 * own. Thread-safe as fork(). */
int aj_egress_start(struct aj_helper *e, const struct aj_policy *policy, const struct aj_egress_sockets *sockets,
                    struct aj_error *err);
/* Does not wait. 1: an event; 0: the relay has died, or has ended after aj_egress_stop(); -1: no event now. A relay whose reports
 * are not read accepts no connection until they are. */
int aj_egress_read(struct aj_helper *e, struct aj_egress_event *ret);
/* Answer AJ_EGRESS_ASKED, once: allow the waiting connections alone (ONCE) or with all later ones to that name and port (RUN), or
 * refuse them with `why`. An answer that cannot be sent ends the relay. */
void aj_egress_answer(struct aj_helper *e, const struct aj_egress_answer *answer);
/* Stop the relay: it forwards nothing more, sends its last reports, closes its end of the socket, resets open connections and
 * exits. aj_egress_next_unsent() returns these connections. */
void aj_egress_stop(const struct aj_helper *e);
/* Iterate over connections whose end the relay has not reported, from `*at` = 0: final figures once the relay has stopped, was
 * killed or has exited; else the current ones. ret_open: the connection is open. False: no more. */
bool aj_egress_next_unsent(const struct aj_helper *e, bool lives, size_t *at, struct aj_egress_event *ret, bool *ret_open);
