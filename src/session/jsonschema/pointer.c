/* JSON pointers for messages: built from the inside out, printed from the outside in.
 * It never overruns the buffer and never fails: a pointer that is too long ends in "...". */
#include "session/jsonschema/pointer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { POINTER_BYTES = 200 };

struct pointer_text {
	char *out;
	size_t used, room;
	bool cut;
};

static void append(struct pointer_text *text, const char *more)
{
	size_t bytes = strlen(more);
	if (text->cut || bytes > text->room - text->used) {
		text->cut = true;
		return;
	}
	memcpy(text->out + text->used, more, bytes);
	text->used += bytes;
}

/* Append a character at a time, so that one that does not fit is left out whole. */
static void append_key(struct pointer_text *text, const char *key)
{
	for (size_t left = strlen(key), n; left && !text->cut; key += n, left -= n) {
		char one[5] = { 0 };
		n = aj_utf8_first(key, left);
		n = n ? n : 1;
		memcpy(one, key, n);
		append(text, *key == '~' ? "~0" : *key == '/' ? "~1" : one);
	}
}

/* The caps on schemas and checks bound the chain's depth, and so this recursion. */
static void append_place(struct pointer_text *text, const struct aj_pointer *place)
{
	char number[24];
	if (!place)
		return;
	append_place(text, place->up);
	append(text, "/");
	if (place->key)
		append_key(text, place->key);
	snprintf(number, sizeof number, "%zu", place->index);
	if (!place->key)
		append(text, number);
}

/* Replace the bytes that a terminal would interpret: C0, DEL, C1 and invalid UTF-8. */
static void replace_controls(char *out)
{
	for (size_t left = strlen(out), n; left; out += n, left -= n)
		if (aj_char_first(out, left, &n) != AJ_CHAR_PLAIN)
			memset(out, '?', n);
}

void aj_pointer_vformat(char *out, size_t out_bytes, const struct aj_pointer *place, const char *fmt, va_list ap)
{
	char pointer[POINTER_BYTES + 8] = "";
	struct pointer_text text = { .out = pointer, .room = POINTER_BYTES };
	append_place(&text, place);
	strcpy(pointer + text.used, text.cut ? "..." : "");
	int at = snprintf(out, out_bytes, "%s%s", pointer, place ? ": " : "");
	if (at >= 0 && (size_t)at < out_bytes)
		vsnprintf(out + at, out_bytes - (size_t)at, fmt, ap);
	size_t bytes = strlen(out);
	if (bytes + 1 == out_bytes) /* the text may be cut within a character */
		out[aj_utf8_valid_prefix(out, bytes)] = '\0';
	replace_controls(out);
}

void aj_pointer_format(char *out, size_t out_bytes, const struct aj_pointer *place, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	aj_pointer_vformat(out, out_bytes, place, fmt, ap);
	va_end(ap);
}
