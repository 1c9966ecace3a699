/* Reports why a command ended before its jail was planned. */
#pragma once
#include "cli/options/options.h"
#include "cli/terminal/show.h"

/* Nothing runs, and `err` says why: print it, or with --json the result, which every command with --json prints once on standard
 * output. Returns the exit code. `type`: of the error. */
int aj_refuse(const struct aj_options *options, enum aj_status status, const char *type, const struct aj_error *err);
/* The same for whatever is not the snippet's fault: an option, a policy, a wall. */
int aj_refuse_setup(const struct aj_options *options, const struct aj_error *err);
