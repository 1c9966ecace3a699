/* SHA-1 by libmd. */
#include "base/sha1.h"

#include <sys/types.h>

#include <sha1.h>

_Static_assert(sizeof(SHA1_CTX) <= sizeof(struct aj_sha1), "room for libmd's state");
_Static_assert(SHA1_DIGEST_STRING_LENGTH == AJ_SHA1_HEX, "room for the hex digits and a NUL");

void aj_sha1_begin(struct aj_sha1 *sum)
{
	SHA1Init((SHA1_CTX *)sum->state);
}

void aj_sha1_add(struct aj_sha1 *sum, const void *data, size_t bytes)
{
	SHA1Update((SHA1_CTX *)sum->state, data, bytes);
}

void aj_sha1_end(struct aj_sha1 *sum, char ret_hex[AJ_SHA1_HEX])
{
	SHA1End((SHA1_CTX *)sum->state, ret_hex);
}
