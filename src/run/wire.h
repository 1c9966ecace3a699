/* The supervisor's side of a snippet's control socket: what it says to the runner, and in which order. */
#pragma once
#include "base/frame.h"
#include "plan/plan.h"

struct aj_buffer {
	char *data; /* malloced */
	size_t bytes, sent, room;
};

void aj_wire_frame(struct aj_buffer *buffer, uint8_t kind, const void *body, size_t bytes);

/* The filter and module names: may be sent at once, they hold nothing of the caller's. */
void aj_wire_arm(struct aj_buffer *buffer, const struct aj_plan *plan);
/* The plan of its jails, then the same: everything that a zygote needs. */
void aj_wire_zygote(struct aj_buffer *buffer, const struct aj_plan *plan);
/* The code and its variables: only to a runner that is armed. `nonce` (AJ_NONCE_BYTES, before the JSON): more snippets may follow,
 * and the result of this one begins with it; NULL: it is the last. -1 when the inputs are not valid JSON. */
int aj_wire_request(struct aj_buffer *buffer, const char *nonce, const struct aj_plan *plan, const struct aj_policy *policy,
                    const struct aj_request *request, struct aj_error *err);
