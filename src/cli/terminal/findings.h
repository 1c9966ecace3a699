/* Errors, and findings about policies, as text for people or as JSON. */
#pragma once
#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "base/toml/diag.h"

/* `text` with its control characters escaped: a policy may be written by an agent, and its text must neither control a terminal
 * nor look like another line of output. */
const char *aj_line(struct aj_arena *arena, const char *text);

/* Print an error with its fix on stderr; returns its exit code. */
int aj_print_error(const struct aj_error *err);

void aj_findings_print(const struct aj_diags *diags, FILE *out);
json_t *aj_findings_json(const struct aj_diags *diags);
