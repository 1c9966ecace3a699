/* Writes values as compact JSON directly into an output buffer.
 * It accepts any bytes as a string and never writes invalid JSON; jansson's own writer takes five times as long, which would slow
 * down a session's snippets. */
#include "base/json/json.h"

#include <string.h>

#include "base/json/scan.h"
#include "base/text.h"

static const char hex[] = "0123456789abcdef";

/* Escape one byte, as up to six. */
static size_t escape(char *to, unsigned char c)
{
	static const char of[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *letter = c ? strchr(of, c) : NULL;
	if (letter) {
		to[0] = '\\';
		to[1] = letters[letter - of];
		return 2;
	}
	if (c < 0x20)
		memcpy(to, (char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 6);
	else
		memcpy(to, "\\ufffd", 6);
	return 6;
}

/* `checked`: the text is known to be UTF-8. */
static void add_string(struct aj_buffer *out, const char *text, size_t bytes, bool checked)
{
	/* Room for the worst case makes a check per byte unnecessary; long texts are written in parts, which end at character
	 * boundaries. */
	enum { PART = 4096, LONGEST = 4 };
	aj_buffer_add(out, "\"", 1);
	for (size_t i = 0; i < bytes;) {
		size_t end = bytes - i > PART ? i + PART : bytes;
		char *to = aj_buffer_reserve(out, (end - i) * 6 + LONGEST), *at = to;
		while (i < end) {
			unsigned char c = (unsigned char)text[i];
			size_t plain = c < 0x80 ? aj_scan_plain(text + i, end - i) : 0;
			if (plain) {
				memcpy(at, text + i, plain);
				at += plain;
				i += plain;
				continue;
			}
			size_t n = c < 0x80 ? 0 : checked ? 1 : aj_utf8_first(text + i, bytes - i);
			if (n == 1) {
				*at++ = (char)c;
			} else if (n) {
				memcpy(at, text + i, n);
				at += n;
			} else {
				at += escape(at, c);
			}
			i += n ? n : 1;
		}
		out->bytes += (size_t)(at - to);
	}
	aj_buffer_add(out, "\"", 1);
}

void aj_buffer_string(struct aj_buffer *out, const char *text, size_t bytes)
{
	add_string(out, text, bytes, false);
}

void aj_buffer_number(struct aj_buffer *out, unsigned long long number)
{
	char text[24], *at = text + sizeof text;
	do
		*--at = (char)('0' + number % 10);
	while ((number /= 10));
	aj_buffer_add(out, at, (size_t)(text + sizeof text - at));
}

static void integer(struct aj_buffer *out, json_int_t number)
{
	if (number < 0)
		aj_buffer_add(out, "-", 1);
	aj_buffer_number(out, number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number);
}

static void real(struct aj_buffer *out, const json_t *value)
{
	char text[64];
	size_t bytes = json_dumpb(value, text, sizeof text, JSON_ENCODE_ANY);
	aj_buffer_add(out, text, bytes <= sizeof text ? bytes : 0);
}

static void object(struct aj_buffer *out, const json_t *value)
{
	const char *key, *comma = "";
	json_t *item;
	aj_buffer_add(out, "{", 1);
	json_object_foreach((json_t *)value, key, item) {
		aj_buffer_text(out, comma);
		add_string(out, key, strlen(key), true);
		aj_buffer_add(out, ":", 1);
		aj_buffer_json(out, item);
		comma = ",";
	}
	aj_buffer_add(out, "}", 1);
}

static void array(struct aj_buffer *out, const json_t *value)
{
	size_t i;
	json_t *item;
	aj_buffer_add(out, "[", 1);
	json_array_foreach(value, i, item) {
		if (i)
			aj_buffer_add(out, ",", 1);
		aj_buffer_json(out, item);
	}
	aj_buffer_add(out, "]", 1);
}

void aj_buffer_json(struct aj_buffer *out, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		object(out, value);
		break;
	case JSON_ARRAY:
		array(out, value);
		break;
	case JSON_STRING:
		add_string(out, json_string_value(value), json_string_length(value), true);
		break;
	case JSON_INTEGER:
		integer(out, json_integer_value(value));
		break;
	case JSON_REAL:
		real(out, value);
		break;
	case JSON_TRUE:
		aj_buffer_text(out, "true");
		break;
	case JSON_FALSE:
		aj_buffer_text(out, "false");
		break;
	case JSON_NULL:
		aj_buffer_text(out, "null");
		break;
	}
}
