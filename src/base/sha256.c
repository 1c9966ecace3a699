/* SHA-256 of bytes or of a file, by libmd, as lower-case hex. */
#include "base/sha256.h"

#include <sha2.h>
#include <string.h>
#include <unistd.h>

static void to_hex(SHA2_CTX *ctx, char ret_hex[AJ_SHA256_HEX])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char digest[SHA256_DIGEST_LENGTH];
	SHA256Final(digest, ctx);
	for (size_t i = 0; i < sizeof digest; i++) {
		ret_hex[2 * i] = hex[digest[i] >> 4];
		ret_hex[2 * i + 1] = hex[digest[i] & 15];
	}
	ret_hex[AJ_SHA256_HEX - 1] = '\0';
}

_Static_assert(sizeof(SHA2_CTX) <= sizeof(struct aj_sha256), "room for libmd's state");

void aj_sha256_begin(struct aj_sha256 *sum)
{
	SHA256Init((SHA2_CTX *)sum->state);
}

void aj_sha256_add(struct aj_sha256 *sum, const void *data, size_t bytes)
{
	SHA256Update((SHA2_CTX *)sum->state, data, bytes);
}

void aj_sha256_end(struct aj_sha256 *sum, char ret_hex[AJ_SHA256_HEX])
{
	to_hex((SHA2_CTX *)sum->state, ret_hex);
}

void aj_sha256(const void *data, size_t bytes, char ret_hex[AJ_SHA256_HEX])
{
	SHA2_CTX ctx;
	SHA256Init(&ctx);
	SHA256Update(&ctx, data, bytes);
	to_hex(&ctx, ret_hex);
}

int aj_sha256_fd(int fd, char ret_hex[AJ_SHA256_HEX])
{
	SHA2_CTX ctx;
	SHA256Init(&ctx);
	unsigned char chunk[16384];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof chunk);
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		SHA256Update(&ctx, chunk, (size_t)n);
	}
	to_hex(&ctx, ret_hex);
	return 0;
}
