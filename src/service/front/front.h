/* A service of several processes: the front owns the sockets and the signals; each of its shards, a process with one thread,
 * serves the clients of some tenants. */
#pragma once
#include "service/server.h"

enum { AJ_SHARDS_MAX = 64 };

/* As aj_server_run(), with config->shards processes. Each shard has its part of the limits on jails, sessions, waiting requests
 * and pools, rounded up; the limit on clients is each shard's own, as a connection may reach any shard first. */
int aj_front_run(const struct aj_server_config *config, struct aj_error *err);
