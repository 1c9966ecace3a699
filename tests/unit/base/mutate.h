/* Makes broken texts out of whole ones, for parsers of JSON. */
#pragma once
#include <stdlib.h>
#include <string.h>

/* Copy a text to `out` with one to three bytes changed or left out. Returns the length. */
static inline size_t mutate(char *out, const char *text)
{
	static const char signs[] = "{}[]\",:\\u0a1-.e \n\xc3\xa9\xed\xf0t";
	size_t bytes = strlen(text);
	memcpy(out, text, bytes + 1);
	for (int n = rand() % 3; n >= 0 && bytes; n--) {
		size_t at = (size_t)rand() % bytes;
		if (rand() % 3 == 0)
			memmove(out + at, out + at + 1, bytes-- - at);
		else
			out[at] = signs[(size_t)rand() % (sizeof signs - 1)];
	}
	return bytes;
}
