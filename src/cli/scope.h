/* A cgroup for a policy that demands one: a transient scope, asked of systemd. */
#pragma once
#include "base/arena.h"

/* Have this process moved to a delegated scope of its own. NULL, or one line on why it was not; takes at most five seconds. */
const char *aj_scope_enter(struct aj_arena *arena);
