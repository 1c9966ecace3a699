/* The service: one socket, many clients, jails from one session manager. */
#pragma once
#include "base/error.h"
#include "service/service_config.h"

/* Serve until SIGINT, SIGTERM or SIGQUIT; a shard: until the front says so or ends. 0, or -1 with err when it could not start. */
int aj_server_run(const struct aj_server_config *config, struct aj_error *err);
