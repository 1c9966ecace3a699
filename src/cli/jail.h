/* The common part of exec and run: from options to plan, jail, report and exit code. */
#pragma once
#include "cli/options.h"

int aj_jail_and_report(struct aj_options *options);
/* Report a snippet whose source is too long or no text: with --json as a result. Returns the exit code. */
int aj_refuse_source(const struct aj_options *options, const struct aj_error *err);
