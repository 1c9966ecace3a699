/* Base64 (RFC 4648, with padding), for binary data in text formats. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define AJ_BASE64_BYTES(bytes) (((bytes) + 2) / 3 * 4)

/* Write AJ_BASE64_BYTES(bytes) characters to `out`, and no NUL behind them. */
void aj_base64(char *out, const void *data, size_t bytes);
/* Is the text base64 on one line, with its padding? Text without a character is. */
bool aj_base64_valid(const char *text, size_t bytes);
