/* Options of `agentjail serve` alone: its policies, its sockets, and its numbers, one table with ranges and defaults. */
#pragma once
#include <stdint.h>

#include "policyload/load.h"
#include "serve/server.h"

/* Options of `serve` alone. */
struct aj_serve_options {
	AJ_LIST(struct aj_ask) asks;    /* --policy and --policy-file, in their order */
	struct aj_server_config config; /* all else that the options set */
};

void aj_serve_options_defaults(struct aj_serve_options *ret);
/* Set what `option`, one of serve's own, names. Returns NULL, or why the value is wrong. */
const char *aj_serve_options_set(struct aj_serve_options *serving, const char *option, const char *value, struct aj_arena *arena);
/* The default as --help shows it; NULL when the option is not in the table. */
const char *aj_serve_options_default(const char *option);
