/* Ports of the host that lead to servers in a jail. Two network namespaces meet in one process, the publisher:
 *
 *   client of the host ──► listener      made by the supervisor, in the host's namespace, before the jail exists
 *   publisher ──► server of the jail     by a socket that the publisher makes itself: it is in the jail's namespace
 *
 * The publisher reaches the host's network only through the connections that it accepts: each socket that it makes is the
 * jail's. It has the relay's filter, the jail's ids, no capability and no file. */
#pragma once
#include "network/helper/helper.h"
#include "policy/plan/plan.h"

struct aj_publish {
	int listeners[AJ_PUBLISHED_MAX];
	size_t count;
	struct aj_helper publisher;
};
#define AJ_NO_PUBLISH                                     \
	(struct aj_publish)                               \
	{                                                 \
		.publisher = {.pidfd = -1, .socket = -1 } \
	}

/* Open the plan's ports on the host. -1 with err, and none is open: a port is taken, for one. */
int aj_publish_open(struct aj_publish *publish, const struct aj_plan *plan, struct aj_error *err);
/* Start the publisher in these namespaces of the jail's; `connections`: that it has open at a time. */
int aj_publish_start(struct aj_publish *publish, const struct aj_plan *plan, int user_ns, int net_ns, unsigned connections,
                     struct aj_error *err);
/* A connection that has ended. */
struct aj_publish_event {
	uint32_t number; /* of its port in the plan */
	int family;
	uint8_t client[16];
	uint16_t client_port;
	uint64_t bytes_out, bytes_in; /* from the jail, to it */
	int64_t opened_us, lasted_us; /* aj_now_us() */
};
struct aj_publish_row {
	struct aj_unsent_row row;
	struct aj_publish_event event; /* its byte counts are in `row` until it ends */
};
/* Does not wait. 1: an event; 0: the publisher has died, or has ended after aj_publish_stop(); -1: no event now. A publisher
 * whose reports are not read accepts no client once as many reports wait as connections may be open. */
int aj_publish_read(struct aj_publish *publish, struct aj_publish_event *ret);
/* Stop the publisher: it forwards nothing more, closes its end of the socket, resets open connections and exits. */
void aj_publish_stop(const struct aj_publish *publish);
/* Like aj_egress_next_unsent(), for a publisher that was stopped or has exited. */
bool aj_publish_next_unsent(const struct aj_publish *publish, size_t *at, struct aj_publish_event *ret);
/* End the publisher, and close the ports. Harmless where nothing is published. */
void aj_publish_end(struct aj_publish *publish);

/* --- network/publish/publisher_process.c --- */

struct aj_publisher_of {
	const struct aj_plan *plan;
	int *listeners; /* one for each of plan->publish */
	int user_ns, net_ns;
	unsigned connections;
	struct aj_unsent unsent; /* rows: struct aj_publish_row */
};
/* An aj_helper_fn, with a struct aj_publisher_of; does not return. */
void aj_publisher_process(void *arg, int socket, pid_t parent);

/* --- network/publish/forwarder.c --- */

struct aj_loop;
struct aj_publisher;
/* NULL: no memory. Listener i leads to port ports[i]. */
struct aj_publisher *aj_publisher_new(struct aj_loop *loop, const struct aj_publisher_of *of, const uint16_t *ports,
                                      int supervisor);
/* Until the supervisor ends it. */
void aj_publisher_run(struct aj_publisher *publisher);
