/* The common part of exec and run: from options to plan, jail, report and exit code. */
#pragma once
#include "cli/options/options.h"

int aj_run_command(struct aj_options *options);
