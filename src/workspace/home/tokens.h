/* The files of a toolchain's folder in which package managers keep tokens. */
#pragma once
#include "policy/plan/request.h"
#include "policy/policy.h"

/* Add to the request's `hidden` what the tables know of such files in `source`, the folder `name` without symlinks, below each of
 * the request's `tools` that shows them. All of these are there by now. */
void aj_tokens_hide(struct aj_request *request, const struct aj_policy *policy, const char *source, const char *name,
                    struct aj_arena *arena);
