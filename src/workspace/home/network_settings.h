/* The caller's certificates and package registries, for a command with a network. */
#pragma once
#include "policy/plan/request.h"
#include "policy/policy.h"

/* With network.pass_settings, fill the request's `settings`, `tool_env` and `settings_notices`. An unreadable file is not an
 * error: its notice gives the cause. */
void aj_network_settings_take(struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena);
