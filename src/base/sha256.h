/* SHA-256 of bytes or of a file, as lower-case hex.
 * The only user of libmd; it knows nothing of the hash's purpose. */
#pragma once
#include <stddef.h>

enum { AJ_SHA256_HEX = 65 };

void aj_sha256(const void *data, size_t bytes, char ret_hex[AJ_SHA256_HEX]);
int aj_sha256_fd(int fd, char ret_hex[AJ_SHA256_HEX]); /* -1 with errno */
