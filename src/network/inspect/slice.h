/* A slice of a text that another object owns, such as a part of a request's head; no NUL follows it. */
#pragma once
#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct aj_slice {
	const char *at;
	size_t bytes;
};

/* In any mix of capitals and small letters. */
static inline bool aj_slice_is_word(struct aj_slice s, const char *word)
{
	return s.bytes == strlen(word) && strncasecmp(s.at, word, s.bytes) == 0;
}

/* Takes from `rest` what lies before `mark`, and the mark; without it, nothing. */
static inline bool aj_slice_split(struct aj_slice *rest, char mark, struct aj_slice *ret)
{
	const char *end = memchr(rest->at, mark, rest->bytes);
	if (!end)
		return false;
	*ret = (struct aj_slice){ rest->at, (size_t)(end - rest->at) };
	*rest = (struct aj_slice){ end + 1, rest->bytes - ret->bytes - 1 };
	return true;
}

/* Without blanks and tabs at its ends. */
static inline struct aj_slice aj_slice_trimmed(struct aj_slice s)
{
	for (; s.bytes && (*s.at == ' ' || *s.at == '\t'); s.at++)
		s.bytes--;
	while (s.bytes && (s.at[s.bytes - 1] == ' ' || s.at[s.bytes - 1] == '\t'))
		s.bytes--;
	return s;
}
