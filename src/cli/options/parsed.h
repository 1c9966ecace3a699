/* The parsed command line, and the commands that an option is for. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/options/serve_options.h"
#include "policy/load/load.h"
#include "policy/plan/request.h"

enum {
	AJ_FOR_EXEC = 1,
	AJ_FOR_RUN = 2,
	AJ_FOR_BOTH = AJ_FOR_EXEC | AJ_FOR_RUN,
	AJ_FOR_SERVE = 4,
	AJ_FOR_SESSION = 8,
	AJ_FOR_JAIL = AJ_FOR_BOTH | AJ_FOR_SESSION, /* one policy, one workspace */
	AJ_FOR_SNIPPETS = AJ_FOR_EXEC | AJ_FOR_SERVE | AJ_FOR_SESSION,
	AJ_FOR_ALL = AJ_FOR_SNIPPETS | AJ_FOR_RUN,
	AJ_FOR_POLICY = 16 /* also an option of `agentjail policy`, as is each that sets a key of the policy */
};

/* The parsed command line. */
struct aj_options {
	struct aj_arena *arena;
	struct aj_ask ask;   /* the policy's name or file, and the options that change its keys */
	const char *config;  /* a site's configuration */
	struct aj_site site; /* site and loaded: filled by aj_options_load() */
	struct aj_loaded loaded;
	struct aj_request request;
	bool quiet;                                    /* no notices, and no report at the end */
	bool json, dry_run, changes_new, changes_keep; /* the last two: --changes new, --changes-end keep */
	FILE *json_to;                                 /* run --json-fd: where the result goes; NULL: standard output */
	const char *report;                            /* --report: a file for what happened */
	FILE *report_to;                               /* that file, open */
	bool mcp;                                      /* run --mcp: standard input and output carry an MCP server's messages */
	const char *code;                              /* exec -c */
	const char *stdin_file;                        /* exec --stdin; "-": our own standard input */
	const char *output;                            /* exec --output: a folder of the host */
	AJ_LIST(const char *) inputs;                  /* name=json */
	struct aj_serve_options serving;               /* initialized by aj_serve_options_defaults() */
};
