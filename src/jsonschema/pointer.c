/* JSON pointers for messages: built from the inside out, printed from the outside in.
 * It never prints more than fits and never refuses: a pointer that is too long ends in "...". */
#include "jsonschema/pointer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { POINTER_BYTES = 200 };

struct text {
	char *out;
	size_t used, room;
	bool cut;
};

static void add(struct text *text, const char *more)
{
	size_t bytes = strlen(more);
	if (text->cut || bytes > text->room - text->used) {
		text->cut = true;
		return;
	}
	memcpy(text->out + text->used, more, bytes);
	text->used += bytes;
}

/* A character at a time, so that one that does not fit is left out whole. */
static void add_key(struct text *text, const char *key)
{
	for (size_t left = strlen(key), n; left && !text->cut; key += n, left -= n) {
		char one[5] = { 0 };
		n = aj_utf8_first(key, left);
		n = n ? n : 1;
		memcpy(one, key, n);
		add(text, *key == '~' ? "~0" : *key == '/' ? "~1" : one);
	}
}

/* The chain is as deep as a schema or a check of one may be, so this recursion is, too. */
static void add_place(struct text *text, const struct aj_pointer *place)
{
	char number[24];
	if (!place)
		return;
	add_place(text, place->up);
	add(text, "/");
	if (place->key)
		add_key(text, place->key);
	snprintf(number, sizeof number, "%zu", place->index);
	if (!place->key)
		add(text, number);
}

/* What a terminal would obey: C0, DEL, C1 and what is not UTF-8. */
static void defuse(char *out)
{
	size_t bytes = strlen(out);
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)out[i];
		if (c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)out[i + 1] < 0xa0))
			out[i] = '?';
	}
	for (size_t valid; (valid = aj_utf8_valid_prefix(out, bytes)) < bytes;)
		out[valid] = '?';
}

void aj_pointer_vsay(char *out, size_t out_bytes, const struct aj_pointer *place, const char *fmt, va_list ap)
{
	char pointer[POINTER_BYTES + 8] = "";
	struct text text = { .out = pointer, .room = POINTER_BYTES };
	add_place(&text, place);
	strcpy(pointer + text.used, text.cut ? "..." : "");
	int at = snprintf(out, out_bytes, "%s%s", pointer, place ? ": " : "");
	if (at >= 0 && (size_t)at < out_bytes)
		vsnprintf(out + at, out_bytes - (size_t)at, fmt, ap);
	size_t bytes = strlen(out);
	if (bytes + 1 == out_bytes) /* perhaps cut in the middle of a character */
		out[aj_utf8_valid_prefix(out, bytes)] = '\0';
	defuse(out);
}

void aj_pointer_say(char *out, size_t out_bytes, const struct aj_pointer *place, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	aj_pointer_vsay(out, out_bytes, place, fmt, ap);
	va_end(ap);
}
