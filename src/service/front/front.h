/* A service of several processes: the front owns the sockets and the signals, and each of its shards, a process with one thread, serves the
 * clients of a part of the tenants. The front reads no byte of a client. */
#pragma once
#include "service/server.h"

enum { AJ_SHARDS_MAX = 64 };

/* As aj_server_run(), with config->shards processes. Each shard has its part of the limits on jails, sessions, waiting requests and pools,
 * rounded up. The limit on clients is each shard's own: which shard a connection reaches first is chance. */
int aj_front_run(const struct aj_server_config *config, struct aj_error *err);
