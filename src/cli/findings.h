/* Findings about policies for a person, or as JSON. */
#pragma once
#include <jansson.h>
#include <stdio.h>

#include "policy/diag.h"

/* A policy may have been written by an agent: what it says must neither drive a terminal nor look like another line. */
const char *aj_line(struct aj_arena *arena, const char *text);

void aj_findings_print(const struct aj_diags *diags, FILE *out);
json_t *aj_findings_json(const struct aj_diags *diags);
