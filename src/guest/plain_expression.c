/* Checks every word of a short line as if it were a name, an attribute and a called function, even words in strings and comments.
 * It parses nothing: the compiler says whether the line is an expression. */
#include "guest/plain_expression.h"

#include <string.h>

#include "guest/plain_python.h"

/* So short that no limit of depth or size can be met. */
enum { LINE_MAX_BYTES = 200 };

/* Words that bind a name, wait, or begin a statement: the first ones may stand in an expression, the others save a compile. */
static const char refused_words[] = " lambda for async await yield import from def class while with try raise"
				    " del pass assert global nonlocal return ";

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A keyword may follow a number without a space, so a number has no letter that only a keyword could bring. */
static bool accept_number(const char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!is_digit(at[i]) && !strchr("abcdefABCDEFxXoOjJ_", at[i]))
			return false;
	return true;
}

static bool accept_word(const char *at, size_t bytes)
{
	char word[LINE_MAX_BYTES + 3];
	if (*at == '_')
		return false;
	word[0] = ' ';
	memcpy(word + 1, at, bytes);
	memcpy(word + 1 + bytes, " ", 2);
	if (strstr(refused_words, word))
		return false;
	object *name = aj_plain_py.text(at, (ssize_t)bytes);
	bool good = name && aj_plain_py.contains(aj_plain_layer.refused_attributes, name) == 0 &&
	            aj_plain_py.contains(aj_plain_layer.looked_at_calls, name) == 0;
	aj_python_release(name);
	return good;
}

/* An escape may stand for any character, and a remark may name an encoding. `:=` binds, as a lone `=` outside of a call does. */
static bool accept_sign(const char *at, const char *text, const char *end, int depth)
{
	static const char none = ' ';
	char before = *(at > text ? at - 1 : &none), after = *(at + 1 < end ? at + 1 : &none);
	if (strchr("\\#;", *at))
		return false;
	return *at != '=' || after == '=' || strchr("=!<>", before) || (depth > 0 && before != ':');
}

bool aj_plain_is_ascii(const char *text, ssize_t bytes)
{
	for (ssize_t i = 0; i < bytes; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

bool aj_plain_is_expression(const char *text, ssize_t bytes)
{
	int depth = 0;
	if (bytes > 0 && text[bytes - 1] == '\n')
		bytes--;
	if (bytes <= 0 || bytes > LINE_MAX_BYTES || !aj_plain_is_ascii(text, bytes))
		return false;
	for (const char *at = text, *end = text + bytes; at < end;) {
		size_t word = 0;
		while (at + word < end && (is_letter(at[word]) || is_digit(at[word])))
			word++;
		if (word == 0 && !accept_sign(at, text, end, depth))
			return false;
		if (word && !(is_digit(*at) ? accept_number(at, word) : accept_word(at, word)))
			return false;
		depth += strchr("([{", *at) ? 1 : strchr(")]}", *at) ? -1 : 0;
		at += word ? word : 1;
	}
	return true;
}
