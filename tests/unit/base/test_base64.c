/* Tests of base/base64: the vectors of RFC 4648, every byte value at every place, and no byte written too many.
 * The decoder here is a table search: slow, and of another make than the encoder. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"

static char *encode(const void *data, size_t bytes)
{
	size_t room = AJ_BASE64_BYTES(bytes);
	char *exact = malloc(room ? room : 1), *text = calloc(1, room + 1); /* a sanitizer sees a byte behind `exact` */
	aj_base64(exact, data, bytes);
	memcpy(text, exact, room);
	free(exact);
	return text;
}

Test(base64, vectors)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xff\xfe\xfb", "//77" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *text = encode(rows[i][0], strlen(rows[i][0]));
		cr_expect_str_eq(text, rows[i][1]);
		free(text);
	}
}

Test(base64, every_byte)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (unsigned byte = 0; byte < 256; byte++)
		for (size_t bytes = 1; bytes < 8; bytes++) {
			unsigned char data[8], back[9] = { 0 };
			for (size_t i = 0; i < bytes; i++)
				data[i] = (unsigned char)(byte + 37 * i);
			char *text = encode(data, bytes);
			unsigned bits = 0;
			size_t at = 0, have = 0;
			for (const char *c = text; *c && *c != '='; c++) {
				bits = bits << 6 | (unsigned)(strchr(digits, *c) - digits);
				if ((have += 6) >= 8)
					back[at++] = (unsigned char)(bits >> (have -= 8));
			}
			cr_assert_eq(at, bytes);
			cr_assert_eq(memcmp(back, data, bytes), 0, "byte %u, %zu bytes: %s", byte, bytes, text);
			free(text);
		}
}

Test(base64, valid)
{
	static const struct {
		const char *text;
		size_t bytes;
		bool valid;
	} rows[] = {
		{ "", 0, true },       { "Zg==", 4, true },           { "Zm8=", 4, true },  { "Zm9v", 4, true },
		{ "+/Z0", 4, true },   { "====", 4, false },          { "Z===", 4, false }, { "Zg=", 3, false },
		{ "Zg=v", 4, false },  { "Zm9", 3, false },           { "Zm-_", 4, false }, { "Zm\n9", 4, false },
		{ "Zm\0v", 4, false }, { "Zm9vZg==Zm9v", 12, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(aj_base64_valid(rows[i].text, rows[i].bytes), rows[i].valid, "row %zu", i);
}
