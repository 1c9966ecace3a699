/* Encodes bytes as base64, and tells base64 from other text.
 * It decodes nothing: no base64 from inside a jail is read on the host. */
#include "base/base64.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool aj_base64_valid(const char *text, size_t bytes)
{
	size_t padding = 0, at = 0;
	while (padding < 2 && padding < bytes && text[bytes - 1 - padding] == '=')
		padding++;
	while (at < bytes - padding && text[at] && strchr(digits, text[at]))
		at++;
	return bytes % 4 == 0 && at == bytes - padding;
}

void aj_base64(char *out, const void *data, size_t bytes)
{
	const unsigned char *in = data;
	for (; bytes >= 3; bytes -= 3, in += 3) {
		*out++ = digits[in[0] >> 2];
		*out++ = digits[(in[0] & 3) << 4 | in[1] >> 4];
		*out++ = digits[(in[1] & 15) << 2 | in[2] >> 6];
		*out++ = digits[in[2] & 63];
	}
	if (!bytes)
		return;
	unsigned char second = bytes == 2 ? in[1] : 0;
	*out++ = digits[in[0] >> 2];
	*out++ = digits[(in[0] & 3) << 4 | second >> 4];
	memcpy(out, "==", 2);
	if (bytes == 2)
		*out = digits[(second & 15) << 2];
}
