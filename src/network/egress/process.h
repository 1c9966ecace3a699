/* The relay's process, from its birth on. */
#pragma once
#include "network/egress/egress.h"

struct aj_relay_of {
	const struct aj_policy *policy;
	const struct aj_egress_sockets *sockets;
	struct aj_unsent unsent; /* rows: struct aj_egress_row */
};

struct aj_egress_row {
	struct aj_unsent_row row;
	struct aj_egress_event event; /* AJ_EGRESS_FAILED until there was a connection; its bytes are in `row` */
};

/* An aj_helper_fn, with a struct aj_relay_of; does not return. */
void aj_relay_process(void *arg, int socket, pid_t parent);
