/* JSON, written straight into what is to be sent. */
#pragma once
#include <jansson.h>

#include "base/out.h"

void aj_out_number(struct aj_out *out, unsigned long long number);
/* As a JSON string; what is not UTF-8 becomes U+FFFD, byte by byte. */
void aj_out_string(struct aj_out *out, const char *text, size_t bytes);
void aj_out_json(struct aj_out *out, const json_t *value);
