/* The supervisor's messages to the runner over a snippet's control socket, and their order. */
#pragma once
#include "base/buffer.h"
#include "base/frame.h"
#include "policy/plan/plan.h"

void aj_encode_frame(struct aj_buffer *out, uint8_t kind, const void *body, size_t bytes);

/* For a runner under a baseline filter: the filter above it, and module names. It has no data of the caller: send it at once. */
void aj_encode_arm(struct aj_buffer *out, const struct aj_plan *plan);
/* Before aj_encode_arm(), for a runner that will get more than one snippet: the policy of all of them. */
void aj_encode_policy(struct aj_buffer *out, const struct aj_plan *plan, const struct aj_policy *policy);
/* For an armed runner that has got no snippet yet: the Python layer of this policy in place of the one that was sent. */
void aj_encode_layer(struct aj_buffer *out, const struct aj_policy *policy);
/* All that a zygote needs: the plan of its jails, the policy, their filter and module names. `reported`: the supervisor can take
 * the listener of a new jail. */
void aj_encode_zygote(struct aj_buffer *out, const struct aj_plan *plan, const struct aj_policy *policy, bool reported);
/* The code and its variables, only for an armed runner. `nonce` (AJ_NONCE_BYTES, before the JSON) begins the result, as more
 * snippets may follow; NULL: the last snippet, sent with the policy. -1 when the inputs are not valid JSON. */
int aj_encode_request(struct aj_buffer *out, const char *nonce, const struct aj_plan *plan, const struct aj_policy *policy,
                      const struct aj_request *request, struct aj_error *err);
