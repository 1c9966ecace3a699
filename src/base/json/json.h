/* Writes JSON directly into an output buffer. */
#pragma once
#include <jansson.h>

#include "base/buffer.h"

void aj_buffer_number(struct aj_buffer *out, unsigned long long number);
/* Append a JSON string; each byte that is not UTF-8 becomes U+FFFD. */
void aj_buffer_string(struct aj_buffer *out, const char *text, size_t bytes);
void aj_buffer_json(struct aj_buffer *out, const json_t *value);
