/* The caller's settings for networks: certificates and package registries, for a command with a network. */
#pragma once
#include "plan/request.h"
#include "policy/policy.h"

/* Under network.pass_settings, fill the request's `settings`, `tool_env` and `settings_said` with what the tables name. Nothing that cannot be
 * read ends the run: the line about it says why it is not passed. */
void aj_network_settings_take(struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena);
