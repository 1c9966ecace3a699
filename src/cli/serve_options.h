/* Options of `agentjail serve` alone: its policies, its sockets, and its numbers, one table with ranges and defaults. */
#pragma once
#include <stdint.h>

#include "policyload/load.h"

/* Options of `serve` alone. */
struct aj_serve_options {
	AJ_LIST(struct aj_ask) asks; /* --policy and --policy-file, in their order */
	const char *socket, *metrics;
	int connection; /* -1: none */
	uint64_t parked, jails_max, sessions_max, queue_max, clients_max, pools_max;
	uint64_t idle_ms, lifetime_ms, grace_ms;
	uint64_t request_bytes, unread_bytes, request_ms;
};

void aj_serve_options_defaults(struct aj_serve_options *ret);
/* Set what `option`, one of serve's own, names. Returns NULL, or why the value is wrong. */
const char *aj_serve_options_set(struct aj_serve_options *serving, const char *option, const char *value, struct aj_arena *arena);
/* The default as --help shows it; NULL when the option is not in the table. */
const char *aj_serve_options_default(const char *option);
