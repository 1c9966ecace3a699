/* Builds the tree of a checked text: the end of a long string is searched for, and the string copied once.
 * It checks no syntax, as that was done while the text arrived, and never reads beyond the text, whatever its content. */
#include "base/json/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json/scan.h"
#include "base/text.h"

struct reader {
	const char *at, *end;
	struct aj_buffer decoded; /* a string with escapes, or a name */
	const char *why;
	unsigned depth;
};

static json_t *read_value(struct reader *r);

static json_t *fail(struct reader *r, const char *why)
{
	r->why = r->why ? r->why : why;
	return NULL;
}

/* The next character that is no space, not consumed; 0 at the end. */
static char peek(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
	if (r->at == r->end)
		return '\0';
	return *r->at;
}

/* Read up to four hexadecimal digits. */
static unsigned read_code(struct reader *r)
{
	unsigned code = 0;
	for (int i = 0; i < 4 && r->at < r->end; i++, r->at++)
		code = code << 4 | (unsigned)(*r->at <= '9' ? *r->at - '0' : (*r->at | 0x20) - 'a' + 10);
	return code & 0xffff;
}

static void add_code(struct aj_buffer *out, unsigned code)
{
	char utf8[4];
	size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = bytes; i-- > 1; code >>= 6)
		utf8[i] = (char)(0x80 | (code & 0x3f));
	utf8[0] = (char)(leads[bytes] | code);
	aj_buffer_add(out, utf8, bytes);
}

/* Read an escape after its backslash. */
static void read_escape(struct reader *r)
{
	static const char letters[] = "bfnrt", stand_for[] = "\b\f\n\r\t";
	if (r->at == r->end)
		return;
	char c = *r->at++;
	if (c == 'u') {
		unsigned code = read_code(r);
		if (code >= 0xd800 && code < 0xdc00 && r->end - r->at > 2) {
			r->at += 2; /* \u */
			code = 0x10000 + ((code & 0x3ff) << 10) + (read_code(r) & 0x3ff);
		}
		add_code(&r->decoded, code);
		return;
	}
	const char *letter = c ? strchr(letters, c) : NULL;
	aj_buffer_add(&r->decoded, letter ? &stand_for[letter - letters] : &c, 1);
}

/* Read the string at the quote. *ret points into the text where nothing is escaped; else it is valid until the next string. */
static size_t read_string(struct reader *r, const char **ret)
{
	const char *begin = ++r->at;
	r->decoded.bytes = 0;
	while (r->at < r->end) {
		r->at += aj_scan_plain(r->at, (size_t)(r->end - r->at));
		if (r->at == r->end || *r->at == '"')
			break;
		if (*r->at++ != '\\')
			continue; /* not ASCII */
		aj_buffer_add(&r->decoded, begin, (size_t)(r->at - 1 - begin));
		read_escape(r);
		begin = r->at;
	}
	size_t bytes = (size_t)(r->at - begin);
	r->at += r->at < r->end;
	*ret = begin;
	if (!r->decoded.bytes)
		return bytes;
	aj_buffer_add(&r->decoded, begin, bytes);
	*ret = r->decoded.data;
	return r->decoded.bytes;
}

static json_t *read_number(struct reader *r)
{
	const char *begin = r->at;
	bool whole = true, minus = *begin == '-', fits = true;
	json_int_t number = 0;
	for (; r->at < r->end && ((*r->at >= '0' && *r->at <= '9') || (*r->at && strchr("+-.eE", *r->at))); r->at++) {
		if (*r->at < '0' || *r->at > '9') {
			whole = whole && r->at == begin;
			continue;
		}
		json_int_t digit = *r->at - '0';
		fits = fits && !__builtin_mul_overflow(number, 10, &number) && !__builtin_sub_overflow(number, digit, &number);
	}
	if (r->at == begin)
		return fail(r, "a value was expected");
	if (!whole) {
		json_t *real = json_loadb(begin, (size_t)(r->at - begin), JSON_DECODE_ANY, NULL);
		return real ? real : fail(r, "a number is out of range");
	}
	fits = fits && (minus || !__builtin_sub_overflow(0, number, &number));
	return fits ? json_integer(number) : fail(r, "an integer is out of range");
}

static json_t *read_literal(struct reader *r, const char *name, json_t *value)
{
	size_t bytes = strlen(name), left = (size_t)(r->end - r->at);
	r->at += bytes < left ? bytes : left;
	return value;
}

static json_t *read_array(struct reader *r)
{
	json_t *array = json_array();
	r->at++;
	while (peek(r) && *r->at != ']') {
		json_t *item = read_value(r);
		if (!item || json_array_append_new(array, item) < 0) {
			json_decref(array);
			return fail(r, "out of memory");
		}
		r->at += peek(r) == ',';
	}
	r->at += r->at < r->end;
	return array;
}

/* Read the name and copy it, as it is used after its value has been read. NULL with why. */
static char *read_name(struct reader *r, const json_t *object)
{
	const char *text;
	if (*r->at != '"')
		return fail(r, "a name in quotes was expected"), NULL;
	size_t bytes = read_string(r, &text);
	char *name = memchr(text, '\0', bytes) ? NULL : strndup(text, bytes);
	if (!name)
		return fail(r, "a name contains a NUL"), NULL;
	if (!json_object_get(object, name))
		return name;
	free(name);
	return fail(r, "a name is a duplicate"), NULL;
}

static json_t *read_object(struct reader *r)
{
	json_t *object = json_object();
	r->at++;
	while (peek(r) && *r->at != '}') {
		char *name = read_name(r, object);
		if (name)
			r->at += peek(r) == ':';
		json_t *value = name ? read_value(r) : NULL;
		bool set = value && json_object_set_new_nocheck(object, name, value) == 0;
		free(name);
		if (!set) {
			json_decref(object);
			return fail(r, "out of memory");
		}
		r->at += peek(r) == ',';
	}
	r->at += r->at < r->end;
	return object;
}

static json_t *read_text(struct reader *r)
{
	const char *text;
	size_t bytes = read_string(r, &text);
	json_t *value = json_stringn_nocheck(text, bytes);
	return value ? value : fail(r, "out of memory");
}

static json_t *read_value(struct reader *r)
{
	json_t *value = NULL;
	if (r->depth > AJ_SCAN_DEPTH) /* AJ_SCAN_DEPTH levels, and a value in the last one */
		return fail(r, "the text is nested too deep");
	r->depth++;
	switch (peek(r)) {
	case '{':
		value = read_object(r);
		break;
	case '[':
		value = read_array(r);
		break;
	case '"':
		value = read_text(r);
		break;
	case 't':
		value = read_literal(r, "true", json_true());
		break;
	case 'f':
		value = read_literal(r, "false", json_false());
		break;
	case 'n':
		value = read_literal(r, "null", json_null());
		break;
	case '\0':
		fail(r, "a value was expected");
		break;
	default:
		value = read_number(r);
	}
	r->depth--;
	return value;
}

json_t *aj_json_read(const char *text, size_t bytes, const char **ret_why)
{
	struct reader r = { .at = text, .end = text + bytes };
	json_t *value = read_value(&r);
	*ret_why = value ? NULL : r.why;
	aj_buffer_free(&r.decoded);
	return value;
}

/* Skip a value, up to the comma or bracket behind it. */
static void skip_value(struct reader *r)
{
	const char *text;
	size_t depth = 0;
	for (char c; (c = peek(r)) && (depth || (c != ',' && c != '}'));) {
		depth += c == '{' || c == '[';
		depth -= (c == '}' || c == ']') && depth;
		if (c == '"')
			read_string(r, &text);
		else
			r->at++;
	}
}

const char *aj_json_bad_name(const char *object, size_t bytes, const char *(*bad)(const char *name), char room[AJ_BAD_NAME])
{
	struct reader r = { .at = object, .end = object + bytes };
	struct aj_buffer name = { 0 };
	const char *text, *why = NULL;
	if (peek(&r) != '{')
		return NULL;
	r.at++;
	while (!why && peek(&r) == '"') {
		size_t n = read_string(&r, &text);
		name.bytes = 0;
		aj_buffer_add(&name, text, n);
		aj_buffer_add(&name, "", 1);
		why = strlen(name.data) < n ? "holds a NUL" : bad(name.data);
		snprintf(room, AJ_BAD_NAME, "%s", name.data);
		r.at += peek(&r) == ':';
		skip_value(&r);
		r.at += peek(&r) == ',';
	}
	aj_buffer_free(&name);
	aj_buffer_free(&r.decoded);
	return why;
}

bool aj_json_has_nul(const json_t *value)
{
	const char *key;
	json_t *item;
	size_t i;
	if (json_is_string(value))
		return memchr(json_string_value(value), '\0', json_string_length(value)) != NULL;
	json_object_foreach((json_t *)value, key, item)
		if (aj_json_has_nul(item))
			return true;
	json_array_foreach(value, i, item)
		if (aj_json_has_nul(item))
			return true;
	return false;
}

json_t *aj_json_text(const char *text, size_t bytes)
{
	if (aj_utf8_valid_prefix(text, bytes) == bytes)
		return json_stringn_nocheck(text, bytes);
	char *fixed = malloc(bytes * 3 + 1);
	json_t *json = fixed ? json_stringn_nocheck(fixed, aj_utf8_repair(fixed, text, bytes)) : json_null();
	free(fixed);
	return json;
}

json_t *aj_json_base64(const void *data, size_t bytes)
{
	char *text = malloc(AJ_BASE64_BYTES(bytes) + 1);
	if (!text)
		abort();
	aj_base64(text, data, bytes);
	json_t *string = json_stringn_nocheck(text, AJ_BASE64_BYTES(bytes));
	free(text);
	return string;
}
