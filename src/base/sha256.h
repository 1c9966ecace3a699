/* SHA-256 of bytes or of a file, as lower-case hex. */
#pragma once
#include <stddef.h>

enum { AJ_SHA256_HEX = 65 };

/* Of bytes that come in pieces. */
struct aj_sha256 {
	_Alignas(8) unsigned char state[256];
};
void aj_sha256_begin(struct aj_sha256 *sum);
void aj_sha256_add(struct aj_sha256 *sum, const void *data, size_t bytes);
void aj_sha256_end(struct aj_sha256 *sum, char ret_hex[AJ_SHA256_HEX]);

void aj_sha256(const void *data, size_t bytes, char ret_hex[AJ_SHA256_HEX]);
int aj_sha256_fd(int fd, char ret_hex[AJ_SHA256_HEX]); /* -1 with errno */
