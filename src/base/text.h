/* Numbers with units, UTF-8 and terminal-safe text.
 * Parsing is strict: trailing characters, overflow and unknown units are refused. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool aj_parse_bytes(const char *text, uint64_t *ret_bytes); /* 4096, 64K, 256M, 2G (powers of 1024) */
bool aj_parse_duration(const char *text, uint64_t *ret_ms); /* 2, 2s, 500ms, 3m, 1h; a bare number is seconds */
bool aj_parse_count(const char *text, uint64_t *ret_count);

/* Length of the valid UTF-8 prefix; equal to `bytes` when all of it is valid. */
size_t aj_utf8_valid_prefix(const char *text, size_t bytes);

/* Length of the character at the start of `text`, which is not empty; 0: no valid character. */
size_t aj_utf8_first(const char *text, size_t bytes);

/* Bytes of a character at the end of `text` that more bytes can complete. */
size_t aj_utf8_incomplete_tail(const char *text, size_t bytes);

/* U+FFFD in place of an invalid byte. Copy `bytes` of `text` to `out`, which holds 3 * bytes, as UTF-8. Returns the length. */
#define AJ_UTF8_REPLACEMENT "\xef\xbf\xbd"
size_t aj_utf8_repair(char *out, const char *text, size_t bytes);

/* The effect of a character on a terminal: some terminals also obey U+0080 to U+009f (C1) and the bytes 0x80 to 0x9f. */
enum aj_char_kind {
	AJ_CHAR_PLAIN,
	AJ_CHAR_BREAK,   /* newline, tab */
	AJ_CHAR_CONTROL, /* any other of C0, DEL, C1 */
	AJ_CHAR_INVALID, /* one byte that begins no character */
};
/* The character at the start of `text`, which is not empty. */
enum aj_char_kind aj_char_first(const char *text, size_t bytes, size_t *ret_bytes);

/* A control character of ASCII: C0 (so newline and tab, too) or DEL. For names, where no byte is interpreted. */
static inline bool aj_is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}
/* Does the text hold a control character: one of ASCII, or of C1 in UTF-8, which some terminals interpret as well? */
bool aj_has_control(const char *text);

/* Copy `bytes` of `text` to `out` (which holds 4 * bytes) with every control character but newline and tab, every one that
 * reverses text (a name that ends in `gpj.exe` could look as if it ended in `exe.jpg`), and every byte that is not UTF-8, made
 * visible as \xNN, so that a jail cannot drive the reader's terminal. Returns the length. */
size_t aj_printable(char *out, const char *text, size_t bytes);

/* Copy `text` to `out`, cut where it ends; every byte but printable ASCII becomes '?'. For reasons that a jail may have
 * written. */
void aj_ascii(char *out, size_t out_bytes, const char *text);

/* Is `word` in `list`, whose words blanks and newlines separate? */
bool aj_has_word(const char *list, const char *word);

/* Upper bound of the memory of a parsed JSON text; SIZE_MAX when it is nested deeper than `max_depth`. A parser's tree takes up
 * to eighty times its text, so call this before parsing a foreign text. */
size_t aj_json_tree_bytes(const char *text, size_t bytes, size_t max_depth);
