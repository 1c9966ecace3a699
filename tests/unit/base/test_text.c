/* Tests of base/text: units, overflow, UTF-8, terminal-safe output.
 * It calls the parsers on fixed strings only; no locale, file or terminal is involved. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"

struct number {
	const char *text;
	bool ok;
	uint64_t value;
};

static void check(const char *what, bool (*parse)(const char *, uint64_t *), const struct number *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t got = 0;
		bool ok = parse(rows[i].text, &got);
		cr_expect(ok == rows[i].ok, "%s `%s`: %s", what, rows[i].text, ok ? "accepted" : "refused");
		if (rows[i].ok)
			cr_expect(got == rows[i].value, "%s `%s`: %lu", what, rows[i].text, got);
	}
}
#define CHECK(what, parse, rows) check(what, parse, rows, sizeof(rows) / sizeof *(rows))

Test(text, bytes)
{
	static const struct number rows[] = {
		{ "0", true, 0 },
		{ "4096", true, 4096 },
		{ "64K", true, 65536 },
		{ "64KiB", true, 65536 },
		{ "256M", true, 256 << 20 },
		{ "256MiB", true, 256 << 20 },
		{ "2G", true, 2ULL << 30 },
		{ "2GiB", true, 2ULL << 30 },
		{ "007", true, 7 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "9223372036854775808", false, 0 },
		{ "18446744073709551615", false, 0 },
		{ "18446744073709551616", false, 0 },
		{ "8589934591G", true, 8589934591ULL << 30 },
		{ "8589934592G", false, 0 },
		{ "17179869184G", false, 0 }, /* 2^64: wraps to 0 when multiplied */
		{ "17179869185G", false, 0 },
		{ "99999999999999999999999999", false, 0 },
		{ "", false, 0 },
		{ "K", false, 0 },
		{ "-1", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "1 K", false, 0 },
		{ "1k", false, 0 },
		{ "1KB", false, 0 },
		{ "1T", false, 0 },
		{ "1.5G", false, 0 },
		{ "0x10", false, 0 },
		{ "1e3", false, 0 },
		{ "1K\n", false, 0 },
	};
	CHECK("bytes", aj_parse_bytes, rows);
}

Test(text, duration)
{
	static const struct number rows[] = {
		{ "2", true, 2000 },
		{ "2s", true, 2000 },
		{ "500ms", true, 500 },
		{ "3m", true, 180000 },
		{ "1h", true, 3600000 },
		{ "0", true, 0 },
		{ "9223372036854775807ms", true, INT64_MAX },
		{ "9223372036854775808ms", false, 0 },
		{ "9223372036854775807", false, 0 },
		{ "5124095576030431h", false, 0 },
		{ "1.5s", false, 0 },
		{ "1d", false, 0 },
		{ "s", false, 0 },
		{ "", false, 0 },
		{ "-1s", false, 0 },
		{ "1s1s", false, 0 },
		{ "1S", false, 0 },
	};
	CHECK("duration", aj_parse_duration, rows);
}

Test(text, count)
{
	static const struct number rows[] = {
		{ "1", true, 1 },    { "1048576", true, 1048576 }, { "1K", false, 0 },    { "1s", false, 0 },  { "", false, 0 },
		{ "one", false, 0 }, { "-0", false, 0 },           { "1,000", false, 0 }, { "1_0", false, 0 },
	};
	CHECK("count", aj_parse_count, rows);
}

Test(text, utf8)
{
	static const struct {
		const char *text;
		size_t bytes, valid;
	} rows[] = {
		{ "", 0, 0 },
		{ "abc", 3, 3 },
		{ "a\0b", 3, 3 },
		{ "\xc3\xa9", 2, 2 },
		{ "\xe2\x82\xac", 3, 3 },
		{ "\xf0\x9f\x90\x8d", 4, 4 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 }, /* U+10FFFF */
		{ "\xed\x9f\xbf", 3, 3 },     /* U+D7FF, the last before the surrogates */
		{ "\xee\x80\x80", 3, 3 },     /* U+E000, the first after them */
		{ "\xed\xa0\x80", 3, 0 },     /* U+D800 */
		{ "\xed\xbf\xbf", 3, 0 },     /* U+DFFF */
		{ "\xf4\x90\x80\x80", 4, 0 }, /* beyond U+10FFFF */
		{ "\xf5\x80\x80\x80", 4, 0 },
		{ "\xc0\x80", 2, 0 }, /* overlong NUL */
		{ "\xc1\xbf", 2, 0 },
		{ "\xe0\x9f\xbf", 3, 0 }, /* overlong */
		{ "\xe0\xa0\x80", 3, 3 },
		{ "\xf0\x8f\xbf\xbf", 4, 0 }, /* overlong */
		{ "\xf0\x90\x80\x80", 4, 4 },
		{ "\x80", 1, 0 },
		{ "\xff", 1, 0 },
		{ "ab\xc3", 3, 2 }, /* cut short */
		{ "ab\xe2\x82", 4, 2 },
		{ "ab\xf0\x9f\x90", 5, 2 },
		{ "a\xc3(", 3, 1 },
		{ "a\xe2\x82(", 4, 1 },
		{ "\xc3\xa9\xff\xc3\xa9", 5, 2 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(aj_utf8_valid_prefix(rows[i].text, rows[i].bytes) == rows[i].valid, "row %zu: %zu", i,
		          aj_utf8_valid_prefix(rows[i].text, rows[i].bytes));
}

/* The caller's length counts, not what stands behind it. */
Test(text, utf8_stops_at_the_given_length)
{
	cr_expect(aj_utf8_valid_prefix("\xc3\xa9", 1) == 0);
	cr_expect(aj_utf8_valid_prefix("\xe2\x82\xac", 2) == 0);
}

Test(text, utf8_incomplete_tail)
{
	static const struct {
		const char *text;
		size_t bytes, tail;
	} rows[] = {
		{ "", 0, 0 },
		{ "a", 1, 0 },
		{ "a\xc3", 2, 1 },
		{ "\xc3\xa9", 2, 0 },
		{ "\xe2", 1, 1 },
		{ "x\xe2\x82", 3, 2 },
		{ "\xe2\x82\xac", 3, 0 },
		{ "\xf0\x9f\x98", 3, 3 },
		{ "\xf0\x9f\x98\x80", 4, 0 },
		/* No byte can complete these. */
		{ "\xff", 1, 0 },
		{ "\xc1", 1, 0 },
		{ "\xf5", 1, 0 },
		{ "\xe0\x80", 2, 0 },
		{ "\xed\xa0", 2, 0 },
		{ "\xf4\x90", 2, 0 },
		{ "\x80\x80\x80\x80", 4, 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(aj_utf8_incomplete_tail(rows[i].text, rows[i].bytes), rows[i].tail, "row %zu", i);
}

Test(text, utf8_first)
{
	cr_expect_eq(aj_utf8_first("ab", 2), 1);
	cr_expect_eq(aj_utf8_first("\xc3\xa9\xff", 3), 2);
	cr_expect_eq(aj_utf8_first("\xe2\x82\xac"
	                           "a",
	                           4),
	             3);
	cr_expect_eq(aj_utf8_first("\xf0\x9f\x90\x8d", 4), 4);
	cr_expect_eq(aj_utf8_first("\xf0\x9f\x90\x8d", 3), 0);
	cr_expect_eq(aj_utf8_first("\xa9", 1), 0);
}

static void expect_repaired(const char *in, size_t bytes, const char *want)
{
	char out[64];
	size_t n = aj_utf8_repair(out, in, bytes);
	cr_expect(n == strlen(want) && memcmp(out, want, n) == 0, "got `%.*s`, want `%s`", (int)n, out, want);
	cr_expect_leq(n, 3 * bytes);
	cr_expect_eq(aj_utf8_valid_prefix(out, n), n);
}

Test(text, utf8_repair)
{
	expect_repaired("", 0, "");
	expect_repaired("plain \xc3\xa9", 8, "plain \xc3\xa9");
	expect_repaired("\xff", 1, AJ_UTF8_REPLACEMENT);
	expect_repaired("a\xe2\x82z", 4, "a" AJ_UTF8_REPLACEMENT AJ_UTF8_REPLACEMENT "z");
	expect_repaired("z\xc3", 2, "z" AJ_UTF8_REPLACEMENT);
}

Test(text, kinds_of_characters)
{
	static const struct {
		const char *text;
		enum aj_char_kind kind;
		size_t bytes;
	} rows[] = {
		{ "a", AJ_CHAR_PLAIN, 1 },
		{ " ", AJ_CHAR_PLAIN, 1 },
		{ "\n", AJ_CHAR_BREAK, 1 },
		{ "\t", AJ_CHAR_BREAK, 1 },
		{ "\r", AJ_CHAR_CONTROL, 1 },
		{ "\x1b[", AJ_CHAR_CONTROL, 1 },
		{ "\x7f", AJ_CHAR_CONTROL, 1 },
		{ "\xc2\x80", AJ_CHAR_CONTROL, 2 },
		{ "\xc2\x9f", AJ_CHAR_CONTROL, 2 },
		{ "\xc2\xa0", AJ_CHAR_PLAIN, 2 },
		{ "\xe2\x82\xac", AJ_CHAR_PLAIN, 3 },
		{ "\xf0\x9f\x90\x8d", AJ_CHAR_PLAIN, 4 },
		{ "\x9b"
		  "2J",
		  AJ_CHAR_INVALID, 1 },
		{ "\xc2", AJ_CHAR_INVALID, 1 },
		{ "\xc2z", AJ_CHAR_INVALID, 1 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t bytes = 0;
		enum aj_char_kind kind = aj_char_first(rows[i].text, strlen(rows[i].text), &bytes);
		cr_expect(kind == rows[i].kind && bytes == rows[i].bytes, "row %zu: kind %d, %zu bytes", i, kind, bytes);
	}
	size_t bytes;
	cr_expect_eq(aj_char_first("\0", 1, &bytes), AJ_CHAR_CONTROL);
}

Test(text, control_characters_of_ascii)
{
	for (int c = 1; c < 256; c++) {
		const char text[] = { 'a', (char)c, 'b', '\0' };
		cr_expect_eq(aj_has_control(text), c < 0x20 || c == 0x7f, "byte %d", c);
	}
	cr_expect_not(aj_has_control(""));
	cr_expect(aj_has_control("a\xc2\x80"));
	cr_expect(aj_has_control("\xc2\x9b"
	                         "31m"));                      /* CSI, for terminals that know C1 */
	cr_expect_not(aj_has_control("\xc2\xa0\xc3\xa9\x9b")); /* no C1: a space, a letter, and a byte that is no character */
}

static void expect_printable(const char *in, size_t bytes, const char *want)
{
	char out[256];
	size_t n = aj_printable(out, in, bytes);
	cr_expect(n == strlen(want) && memcmp(out, want, n) == 0, "got `%.*s`, want `%s`", (int)n, out, want);
}

Test(text, printable)
{
	expect_printable("", 0, "");
	expect_printable("plain text\n\tindented", 20, "plain text\n\tindented");
	expect_printable("a\0b", 3, "a\\x00b");
	expect_printable("\r", 1, "\\x0d");
	expect_printable("\b\a", 2, "\\x08\\x07");
	expect_printable("\x1b[31mred", 8, "\\x1b[31mred");
	expect_printable("\x7f", 1, "\\x7f");
	expect_printable("\xc3\xa9 \xe2\x82\xac", 6, "\xc3\xa9 \xe2\x82\xac");
}

/* No byte of a C1 control may arrive as such: an 8-bit terminal takes 0x9b for ESC [. */
Test(text, printable_shows_what_reverses_text)
{
	expect_printable("a\xe2\x80\xae"
	                 "gpj.exe",
	                 11, "a\\xe2\\x80\\xaegpj.exe");
	for (unsigned c = 0x2028; c < 0x2070; c++) {
		const char encoded[] = { (char)0xe2, (char)(0x80 | (c >> 6 & 0x3f)), (char)(0x80 | (c & 0x3f)) };
		char out[3 * 4];
		bool reverses = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
		cr_expect_eq(aj_printable(out, encoded, sizeof encoded), reverses ? 12 : 3, "U+%04X", c);
	}
	expect_printable("\xd7\xa9\xe2\x80\x8f\xd9\x84\xe2\x80\x8e", 10, "\xd7\xa9\xe2\x80\x8f\xd9\x84\xe2\x80\x8e");
}

Test(text, printable_hides_c1_controls)
{
	char out[64];
	for (unsigned c = 0x80; c < 0xa0; c++) {
		const char encoded[] = { 'a', (char)0xc2, (char)c, 'b' }, lone[] = { 'a', (char)c, 'b' };
		size_t n = aj_printable(out, encoded, sizeof encoded);
		cr_expect(!memchr(out, (int)c, n), "U+%04X passes", c);
		n = aj_printable(out, lone, sizeof lone);
		cr_expect(!memchr(out, (int)c, n), "lone 0x%02x passes", c);
	}
	expect_printable("\xc2\xa0", 2, "\xc2\xa0");
}

/* The promised size of the output buffer is enough for the worst input, and never more than that is used. */
Test(text, printable_room)
{
	char in[64], out[4 * sizeof in + 1];
	for (int c = 0; c < 256; c++) {
		memset(in, c, sizeof in);
		memset(out, '#', sizeof out);
		size_t n = aj_printable(out, in, sizeof in);
		cr_expect(n <= 4 * sizeof in && out[4 * sizeof in] == '#', "byte %d", c);
	}
}

Test(text, words)
{
	cr_expect(aj_has_word("memory pids\n", "memory") && aj_has_word("memory pids\n", "pids") && aj_has_word("a", "a"));
	cr_expect_not(aj_has_word("memory pids\n", "memor") || aj_has_word("memory pids", "emory") ||
	              aj_has_word("memory pids", "memory pids"));
	cr_expect_not(aj_has_word("", "a") || aj_has_word("cpuset cpus", "cpu"));
}
