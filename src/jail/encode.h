/* The supervisor's side of a snippet's control socket: what it says to the runner, and in which order. */
#pragma once
#include "base/buffer.h"
#include "base/frame.h"
#include "plan/plan.h"

void aj_encode_frame(struct aj_buffer *out, uint8_t kind, const void *body, size_t bytes);

/* To a runner under a baseline: the filter above it, and module names. May be sent at once, they hold nothing of the caller's. */
void aj_encode_arm(struct aj_buffer *out, const struct aj_plan *plan);
/* Before it, to a runner that will get more than one snippet: the policy of all of them. */
void aj_encode_policy(struct aj_buffer *out, const struct aj_plan *plan, const struct aj_policy *policy);
/* The plan of its jails, the policy, their filter and module names: everything that a zygote needs. `reported`: the supervisor can take
 * a newborn's listener. */
void aj_encode_zygote(struct aj_buffer *out, const struct aj_plan *plan, const struct aj_policy *policy, bool reported);
/* The code and its variables: only to a runner that is armed. `nonce` (AJ_NONCE_BYTES, before the JSON): more snippets may follow,
 * and the result of this one begins with it; NULL: it is the last, and the policy comes with it. -1 when the inputs are not valid
 * JSON. */
int aj_encode_request(struct aj_buffer *out, const char *nonce, const struct aj_plan *plan, const struct aj_policy *policy,
                      const struct aj_request *request, struct aj_error *err);
