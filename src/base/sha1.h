/* SHA-1 over bytes that arrive in pieces, as lower-case hex, for the names of git's objects.
 * agentjail's own hashes are SHA-256 (base/sha256.h). */
#pragma once
#include <stddef.h>

enum { AJ_SHA1_HEX = 41 };

struct aj_sha1 {
	_Alignas(8) unsigned char state[128];
};
void aj_sha1_begin(struct aj_sha1 *sum);
void aj_sha1_add(struct aj_sha1 *sum, const void *data, size_t bytes);
void aj_sha1_end(struct aj_sha1 *sum, char ret_hex[AJ_SHA1_HEX]);
