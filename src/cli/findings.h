/* Findings about policies for a person, or as JSON. */
#pragma once
#include <jansson.h>
#include <stdio.h>

#include "policy/diag.h"

void aj_findings_print(const struct aj_diags *diags, FILE *out);
json_t *aj_findings_json(const struct aj_diags *diags);
