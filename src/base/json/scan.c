/* Checks JSON without building a tree: a state, one bit per level, and counts.
 * It detects neither duplicate names nor NULs, and decodes only what the check requires. */
#include "base/json/scan.h"

#include <string.h>

/* The expected input. VALUE must be 0. */
enum {
	VALUE,
	VALUE_OR_END, /* after [ */
	KEY,
	KEY_OR_END, /* after { */
	COLON,
	AFTER, /* after a value in an array or object */
	DONE,
	STRING,
	ESCAPE,
	DIGITS,     /* the digits of \u */
	LOW_ESCAPE, /* a high surrogate needs a low one */
	LOW_U,
	LITERAL,
	MINUS, /* states of a number, by its last character */
	ZERO,
	INTEGER,
	POINT,
	FRACTION,
	EXPONENT,
	SIGN,
	POWER,
};

static bool in_object(const struct aj_scan *s)
{
	return s->objects[s->depth / 64] >> s->depth % 64 & 1;
}

static bool fail(struct aj_scan *s, const char *why)
{
	s->wrong = why;
	return true;
}

/* The outermost member whose value is being read; NULL: none. */
static struct aj_span *current_member(struct aj_scan *s)
{
	return s->depth == 1 && in_object(s) && s->members_count && !s->full ? &s->members[s->members_count - 1] : NULL;
}

static void begin_value(struct aj_scan *s)
{
	struct aj_span *m = current_member(s);
	if (m)
		*m = (struct aj_span){ m->key, m->key_bytes, s->at, 0, s->values };
	if (++s->values > s->max_values)
		fail(s, "the text has too many values");
}

/* A value ended before `end`. */
static void end_value(struct aj_scan *s, size_t end)
{
	struct aj_span *m = current_member(s);
	if (m) {
		m->bytes = end - m->at;
		m->values = s->values - m->values;
	}
	s->state = s->depth ? AFTER : DONE;
}

static bool open_level(struct aj_scan *s, bool object)
{
	begin_value(s);
	if (++s->depth > AJ_SCAN_DEPTH)
		return fail(s, "the text is nested too deep");
	uint64_t bit = UINT64_C(1) << s->depth % 64, *word = &s->objects[s->depth / 64];
	*word = object ? *word | bit : *word & ~bit;
	s->state = object ? KEY_OR_END : VALUE_OR_END;
	return true;
}

static bool close_level(struct aj_scan *s, bool object)
{
	if (in_object(s) != object)
		return fail(s, "a closing bracket has no opening one");
	s->depth--;
	end_value(s, s->at + 1);
	return true;
}

static bool first_of_value(struct aj_scan *s, char c)
{
	switch (c) {
	case '{':
	case '[':
		return open_level(s, c == '{');
	case '"':
		s->key = false;
		s->state = STRING;
		break;
	case 't':
	case 'f':
	case 'n':
		s->literal = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
		s->state = LITERAL;
		break;
	case '-':
		s->state = MINUS;
		break;
	case '0':
		s->state = ZERO;
		break;
	default:
		if (c < '1' || c > '9')
			return fail(s, "a value was expected");
		s->state = INTEGER;
	}
	begin_value(s);
	return true;
}

static bool first_of_name(struct aj_scan *s, char c)
{
	if (c != '"')
		return fail(s, "a name in quotes was expected");
	s->key = true;
	s->state = STRING;
	if (s->depth == 1) {
		s->full = s->members_count == AJ_SCAN_MEMBERS;
		if (!s->full)
			s->members[s->members_count++] = (struct aj_span){ .key = s->at + 1 };
	}
	return true;
}

static bool string_end(struct aj_scan *s)
{
	struct aj_span *m = s->key ? current_member(s) : NULL;
	if (m)
		m->key_bytes = s->at - m->key;
	if (s->key)
		s->state = COLON;
	else
		end_value(s, s->at + 1);
	return true;
}

/* The first byte of a non-ASCII character, by the Unicode standard's table. */
static bool begin_utf8(struct aj_scan *s, uint8_t c)
{
	if (c < 0xc2 || c > 0xf4)
		return fail(s, "the text is not UTF-8");
	s->more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
	s->low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	s->high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	return true;
}

static bool string_byte(struct aj_scan *s, char c)
{
	uint8_t byte = (uint8_t)c;
	if (s->more) {
		if (byte < s->low || byte > s->high)
			return fail(s, "the text is not UTF-8");
		s->more--;
		s->low = 0x80;
		s->high = 0xbf;
		return true;
	}
	if (c == '"')
		return string_end(s);
	if (c == '\\')
		s->state = ESCAPE;
	else if (byte < 0x20)
		return fail(s, "a string contains a control character");
	return byte < 0x80 || begin_utf8(s, byte);
}

static bool escape(struct aj_scan *s, char c)
{
	if (!strchr("\"\\/bfnrtu", c) || !c)
		return fail(s, "unknown escape sequence");
	s->state = c == 'u' ? DIGITS : STRING;
	s->digits = s->code = 0;
	return true;
}

static bool digits(struct aj_scan *s, char c)
{
	const char *hex = "0123456789abcdef", *at = c ? strchr(hex, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;
	if (!at)
		return fail(s, "unknown escape sequence");
	s->code = s->code << 4 | (unsigned)(at - hex);
	if (++s->digits < 4)
		return true;
	bool low = s->code >= 0xdc00 && s->code <= 0xdfff, high = s->code >= 0xd800 && s->code <= 0xdbff;
	if (low != s->pair)
		return fail(s, "a surrogate without its pair");
	s->pair = high;
	s->state = high ? LOW_ESCAPE : STRING;
	return true;
}

/* False: the number ended before this character. */
static bool number(struct aj_scan *s, char c)
{
	bool digit = c >= '0' && c <= '9', whole = s->state == ZERO || s->state == INTEGER;
	if (digit && s->state == MINUS)
		s->state = c == '0' ? ZERO : INTEGER;
	else if (digit && s->state != ZERO)
		s->state = s->state == POINT ? FRACTION : s->state == EXPONENT || s->state == SIGN ? POWER : s->state;
	else if (c == '.' && whole)
		s->state = POINT;
	else if ((c == 'e' || c == 'E') && (whole || s->state == FRACTION))
		s->state = EXPONENT;
	else if ((c == '+' || c == '-') && s->state == EXPONENT)
		s->state = SIGN;
	else if (whole || s->state == FRACTION || s->state == POWER)
		return end_value(s, s->at), false;
	else
		return fail(s, "a digit was expected");
	return true;
}

static bool expect(struct aj_scan *s, bool found, uint8_t state)
{
	s->state = state;
	return found || fail(s, "a bracket, comma or colon is missing or misplaced");
}

/* False: the character must be fed again, in the new state. */
static bool feed_char(struct aj_scan *s, char c)
{
	bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
	if (space && s->state <= DONE)
		return true;
	switch (s->state) {
	case VALUE_OR_END:
		return c == ']' ? close_level(s, false) : first_of_value(s, c);
	case VALUE:
		return first_of_value(s, c);
	case KEY_OR_END:
		return c == '}' ? close_level(s, true) : first_of_name(s, c);
	case KEY:
		return first_of_name(s, c);
	case COLON:
		return expect(s, c == ':', VALUE);
	case AFTER:
		return c == '}' || c == ']' ? close_level(s, c == '}') : expect(s, c == ',', in_object(s) ? KEY : VALUE);
	case DONE:
		return fail(s, "there is text after the end of the value");
	case STRING:
		return string_byte(s, c);
	case ESCAPE:
		return escape(s, c);
	case DIGITS:
		return digits(s, c);
	case LOW_ESCAPE:
		return c == '\\' ? expect(s, true, LOW_U) : fail(s, "a surrogate without its pair");
	case LOW_U:
		s->digits = s->code = 0;
		return c == 'u' ? expect(s, true, DIGITS) : fail(s, "a surrogate without its pair");
	case LITERAL:
		if (c != *s->literal)
			return fail(s, "a value was expected");
		if (!*++s->literal)
			end_value(s, s->at + 1);
		return true;
	default:
		return number(s, c);
	}
}

size_t aj_scan_plain(const char *text, size_t bytes)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), highest = ones * 0x80;
	size_t i = 0;
	/* Eight bytes at a time: in each byte that ends plain text one of the four terms sets the highest bit. A subtraction
	 * borrows only above such a byte. */
	for (uint64_t word; i + sizeof word <= bytes; i += sizeof word) {
		memcpy(&word, text + i, sizeof word);
		uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
		if (((word - ones * 0x20) | (quote - ones) | (backslash - ones) | word) & highest)
			break;
	}
	while (i < bytes && (signed char)text[i] >= 0x20 && text[i] != '"' && text[i] != '\\')
		i++;
	return i;
}

const char *aj_scan_feed(struct aj_scan *s, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes && !s->wrong;) {
		/* Long texts are mostly plain. */
		size_t plain = s->state == STRING && !s->more ? aj_scan_plain(text + i, bytes - i) : 0;
		i += plain;
		s->at += plain;
		if (i == bytes)
			break;
		if (feed_char(s, text[i]) && !s->wrong) {
			i++;
			s->at++;
		}
	}
	return s->wrong;
}

const char *aj_scan_end(struct aj_scan *s)
{
	if (!s->wrong && !s->depth && s->state >= ZERO)
		feed_char(s, ' ');
	if (!s->wrong && s->state != DONE)
		fail(s, "the text ends too early");
	return s->wrong;
}

bool aj_scan_too_many(const struct aj_scan *s)
{
	return s->values > s->max_values;
}

const struct aj_span *aj_scan_member(const struct aj_scan *s, const char *text, const char *name)
{
	size_t bytes = strlen(name);
	for (size_t i = s->members_count; i-- > 0;)
		if (s->members[i].key_bytes == bytes && memcmp(text + s->members[i].key, name, bytes) == 0)
			return &s->members[i];
	return NULL;
}
