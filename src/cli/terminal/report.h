/* The report at the end of a run: one block on standard error, empty if there is nothing to report, and the same as a file. */
#pragma once
#include <stdio.h>

#include "jail/result/result.h"
#include "policy/plan/plan.h"

/* The sources of the block. */
struct aj_report {
	const struct aj_plan *plan;
	const struct aj_policy *policy;
	const struct aj_request *request;
	const struct aj_result *result;
	const char *files_to; /* exec --output; NULL: none */
};

void aj_report_print(FILE *out, const struct aj_report *report);

/* A file for --report: regular, not by way of a symlink at its end. Made before the run, so that a wrong place is an error in
 * time. NULL with err. */
FILE *aj_report_open(const char *path, struct aj_error *err);
/* Write the report and close the file. The end of `path` chooses the form: .json is the whole result, .md the block below the
 * result's figures. -1 with errno. */
int aj_report_write(FILE *file, const char *path, const struct aj_report *report);
