/* Bytes of a text that somebody else holds: a part of a request's head, never with a NUL at the end.
 * A span owns nothing and copies nothing. */
#pragma once
#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct aj_span {
	const char *at;
	size_t bytes;
};

/* In any mix of capitals and small letters. */
static inline bool aj_span_is_word(struct aj_span s, const char *word)
{
	return s.bytes == strlen(word) && strncasecmp(s.at, word, s.bytes) == 0;
}

/* Takes from `rest` what lies before `mark`, and the mark; without it, nothing. */
static inline bool aj_span_split(struct aj_span *rest, char mark, struct aj_span *ret)
{
	const char *end = memchr(rest->at, mark, rest->bytes);
	if (!end)
		return false;
	*ret = (struct aj_span){ rest->at, (size_t)(end - rest->at) };
	*rest = (struct aj_span){ end + 1, rest->bytes - ret->bytes - 1 };
	return true;
}

/* Without blanks and tabs at its ends. */
static inline struct aj_span aj_span_trimmed(struct aj_span s)
{
	for (; s.bytes && (*s.at == ' ' || *s.at == '\t'); s.at++)
		s.bytes--;
	while (s.bytes && (s.at[s.bytes - 1] == ' ' || s.at[s.bytes - 1] == '\t'))
		s.bytes--;
	return s;
}
