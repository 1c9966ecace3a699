/* Options of `agentjail serve` alone: policies, sockets, and a table of numbers with ranges and defaults. */
#pragma once
#include <stdint.h>

#include "policy/load/load.h"
#include "service/server.h"

/* Options of `serve` alone. */
struct aj_serve_options {
	AJ_LIST(struct aj_ask) asks;    /* --policy and --policy-file, in their order */
	struct aj_server_config config; /* all else that the options set */
	bool jails_given, sessions_given;
};

void aj_serve_options_defaults(struct aj_serve_options *ret);
/* Set what `option`, one of serve's own, names. Returns NULL, or why the value is wrong. */
const char *aj_serve_options_set(struct aj_serve_options *serving, const char *option, const char *value, struct aj_arena *arena);
/* Call after the last option: if only one of --jails-max and --sessions-max was given, set the other to match. -1 with err if
 * both were given and some sessions could not open. */
int aj_serve_options_relate(struct aj_serve_options *serving, struct aj_error *err);
/* The default as --help shows it; NULL when the option is not in the table. */
const char *aj_serve_options_default(const char *option);
