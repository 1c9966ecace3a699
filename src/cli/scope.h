/* A cgroup for a policy that demands one: a transient scope, asked of systemd. */
#pragma once
#include "base/arena.h"
#include "cli/options.h"
#include "plan/host.h"

/* Have this process moved to a delegated scope of its own. NULL, or one line on why it was not; takes at most five seconds. */
const char *aj_scope_enter(struct aj_arena *arena);

/* A policy that demands a cgroup where there is none gets one from systemd, if that has one to give. Others do not pay for it. */
void aj_scope_when_demanded(struct aj_host *host, const struct aj_options *options);
