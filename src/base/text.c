/* Numbers with units, UTF-8 and terminal-safe text.
 * It allocates nothing and never guesses: a text that does not parse is an error, which the caller reports. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit byte_units[] = {
	{ "", 1 },          { "K", 1 << 10 },    { "KiB", 1 << 10 },    { "M", 1 << 20 },
	{ "MiB", 1 << 20 }, { "G", 1ULL << 30 }, { "GiB", 1ULL << 30 },
};
static const struct unit time_units[] = {
	{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
};
static const struct unit no_units[] = { { "", 1 } };

static bool parse_number(const char *text, const struct unit *units, size_t unit_count, uint64_t *ret)
{
	if (!isdigit((unsigned char)text[0]))
		return false;
	char *end;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	if (errno)
		return false;
	for (size_t i = 0; i < unit_count; i++) {
		if (strcmp(end, units[i].suffix) != 0)
			continue;
		return !__builtin_mul_overflow((uint64_t)n, units[i].factor, ret) && *ret <= INT64_MAX;
	}
	return false;
}

#define COUNT(a) (sizeof(a) / sizeof *(a))

bool aj_parse_bytes(const char *text, uint64_t *ret_bytes)
{
	return parse_number(text, byte_units, COUNT(byte_units), ret_bytes);
}

bool aj_parse_duration(const char *text, uint64_t *ret_ms)
{
	return parse_number(text, time_units, COUNT(time_units), ret_ms);
}

bool aj_parse_count(const char *text, uint64_t *ret_count)
{
	return parse_number(text, no_units, COUNT(no_units), ret_count);
}

/* Length of the sequence at `s`, 0 when it is not valid (overlong, surrogate, beyond U+10FFFF). */
static size_t sequence(const unsigned char *s, size_t left)
{
	if (s[0] < 0x80)
		return 1;
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || left < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

size_t aj_utf8_first(const char *text, size_t bytes)
{
	return sequence((const unsigned char *)text, bytes);
}

size_t aj_utf8_valid_prefix(const char *text, size_t bytes)
{
	size_t at = 0;
	while (at < bytes) {
		size_t n = sequence((const unsigned char *)text + at, bytes - at);
		if (!n)
			break;
		at += n;
	}
	return at;
}

size_t aj_utf8_incomplete_tail(const char *text, size_t bytes)
{
	for (size_t n = 1; n <= 3 && n <= bytes; n++) {
		const char *at = text + bytes - n;
		unsigned char c = (unsigned char)*at;
		if ((c & 0xc0) == 0x80)
			continue;
		if (c < 0xc2 || c > 0xf4 || aj_utf8_first(at, n))
			return 0;
		/* Can any continuation bytes complete it? */
		for (unsigned char fill = 0x80; fill < 0xc0; fill += 0x10) {
			char whole[4] = { (char)fill, (char)fill, (char)fill, (char)fill };
			memcpy(whole, at, n);
			if (aj_utf8_first(whole, sizeof whole) > n)
				return n;
		}
		return 0;
	}
	return 0;
}

size_t aj_utf8_repair(char *out, const char *text, size_t bytes)
{
	size_t at = 0;
	for (size_t i = 0; i < bytes;) {
		size_t n = aj_utf8_valid_prefix(text + i, bytes - i);
		memcpy(out + at, text + i, n);
		at += n;
		i += n;
		if (i == bytes)
			break;
		memcpy(out + at, AJ_UTF8_REPLACEMENT, strlen(AJ_UTF8_REPLACEMENT));
		at += strlen(AJ_UTF8_REPLACEMENT);
		i++;
	}
	return at;
}

enum aj_char_kind aj_char_first(const char *text, size_t bytes, size_t *ret_bytes)
{
	size_t n = aj_utf8_first(text, bytes);
	*ret_bytes = n ? n : 1;
	if (!n)
		return AJ_CHAR_INVALID;
	if (*text == '\n' || *text == '\t')
		return AJ_CHAR_BREAK;
	bool c1 = (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0;
	return c1 || aj_is_control(*text) ? AJ_CHAR_CONTROL : AJ_CHAR_PLAIN;
}

bool aj_has_control(const char *text)
{
	enum aj_char_kind kind;
	for (size_t left = strlen(text), n; left; text += n, left -= n)
		if ((kind = aj_char_first(text, left, &n)) == AJ_CHAR_CONTROL || kind == AJ_CHAR_BREAK)
			return true;
	return false;
}

/* U+202A to U+202E or U+2066 to U+2069? These reverse text up to the line's end; U+200E and U+200F do not. */
static bool is_bidi_control(const unsigned char *s, size_t bytes)
{
	return bytes == 3 && s[0] == 0xe2 &&
	       ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

size_t aj_printable(char *out, const char *text, size_t bytes)
{
	static const char hex[] = "0123456789abcdef";
	size_t at = 0;
	for (size_t i = 0, n; i < bytes; i += n) {
		bool shown = aj_char_first(text + i, bytes - i, &n) < AJ_CHAR_CONTROL;
		if (shown && !is_bidi_control((const unsigned char *)text + i, n)) {
			memcpy(out + at, text + i, n);
			at += n;
			continue;
		}
		for (size_t k = 0; k < n; k++) {
			unsigned char c = (unsigned char)text[i + k];
			memcpy(out + at, (char[]){ '\\', 'x', hex[c >> 4], hex[c & 15] }, 4);
			at += 4;
		}
	}
	return at;
}

void aj_ascii(char *out, size_t out_bytes, const char *text)
{
	char *at = out;
	for (; *text && at < out + out_bytes - 1; text++)
		*at++ = (char)(*text >= ' ' && *text < 0x7f ? *text : '?');
	*at = '\0';
}

bool aj_has_word(const char *list, const char *word)
{
	size_t bytes = strlen(word);
	for (const char *at = list; *at; at += strcspn(at, " \n"), at += strspn(at, " \n"))
		if (strcspn(at, " \n") == bytes && memcmp(at, word, bytes) == 0)
			return true;
	return false;
}

size_t aj_json_tree_bytes(const char *text, size_t bytes, size_t max_depth)
{
	size_t sum = bytes, depth = 0;
	bool string = false;
	for (size_t i = 0; i < bytes; i++) {
		char c = text[i];
		if (c == '"')
			string = !string;
		else if (string && c == '\\')
			i++;
		if (string)
			continue;
		depth += c == '{' || c == '[';
		depth -= (c == '}' || c == ']') && depth;
		if (depth > max_depth)
			return SIZE_MAX;
		sum += c == '{' ? 400 : c == '[' || c == ':' ? 160 : c == ',' ? 64 : 0;
	}
	return sum;
}
