/* What exec and run share: options in, plan, jail, report, exit code out. */
#pragma once
#include "cli/options.h"

int aj_jail_and_report(struct aj_options *options);
