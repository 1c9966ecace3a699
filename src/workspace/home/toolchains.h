/* The caller's toolchains outside of /usr, for a command. */
#pragma once
#include "policy/plan/request.h"
#include "policy/policy.h"

struct aj_error;

/* Find those that filesystem.toolchains names, by PATH, and fill the request's `tools`, `hidden`, `tool_env` and `path`. The
 * request's workspace is absolute by now. 0, or -1 with err: a toolchain that is named is not there. */
int aj_toolchains_find(struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena, struct aj_error *err);
