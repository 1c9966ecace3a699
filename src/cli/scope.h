/* A cgroup for a policy that requires one: a transient scope, requested from systemd. */
#pragma once
#include "base/arena.h"
#include "cli/options/options.h"
#include "policy/host/host.h"

/* Move this process to a delegated scope of its own. NULL, or one line on why that failed; takes at most five seconds. */
const char *aj_scope_enter(struct aj_arena *arena);

/* If the policy demands a cgroup and the host has none, request a scope from systemd. No other policy costs that time. */
void aj_scope_when_demanded(struct aj_host *host, const struct aj_options *options);
