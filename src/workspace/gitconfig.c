/* Reads the format of git-config(1): sections, subsections in quotes, escapes, comments, continued lines.
 * It opens nothing, follows no include and keeps no text: a jail may have written it, so every length has an end. */
#include "workspace/gitconfig.h"

#include <ctype.h>
#include <string.h>

struct reader {
	const char *at, *end;
	struct aj_gitconfig now;
};

/* As git does: a carriage return before a newline is none, and a file ends with a newline. */
static int next(struct reader *r)
{
	if (r->at + 1 < r->end && r->at[0] == '\r' && r->at[1] == '\n')
		r->at++;
	return r->at < r->end ? (unsigned char)*r->at++ : '\n';
}

/* A space to git, which knows fewer of them than C: a value that ends with a vertical tab is not the same without it. */
static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool done(const struct reader *r)
{
	return r->at >= r->end;
}

static void put(char *out, size_t room, size_t *used, int c)
{
	if (*used + 1 < room)
		out[*used] = (char)c;
	++*used;
}

static void close_text(char *out, size_t room, size_t used)
{
	out[used < room ? used : room - 1] = '\0';
	if (used >= room && room > 3)
		memcpy(out + room - 4, "...", 3);
}

static bool subsection(struct reader *r)
{
	size_t used = strlen(r->now.subsection); /* `[a.b "c"]` is b.c of a */
	int c;
	if (used)
		put(r->now.subsection, sizeof r->now.subsection, &used, '.');
	do
		c = next(r);
	while (c == ' ' || c == '\t');
	if (c != '"')
		return false;
	while ((c = next(r)) != '"') {
		if (c == '\\')
			c = next(r);
		if (c == '\n')
			return false;
		put(r->now.subsection, sizeof r->now.subsection, &used, c);
	}
	close_text(r->now.subsection, sizeof r->now.subsection, used);
	return next(r) == ']';
}

static bool section(struct reader *r)
{
	size_t used = 0;
	r->now.subsection[0] = '\0';
	for (;;) {
		int c = next(r);
		if (c == ']' || c == ' ' || c == '\t') {
			close_text(r->now.section, sizeof r->now.section, used);
			/* The old way to write a subsection. */
			char *dot = strchr(r->now.section, '.');
			if (dot) {
				strcpy(r->now.subsection, dot + 1);
				*dot = '\0';
			}
			return c == ']' || subsection(r);
		}
		if (!isalnum(c) && c != '-' && c != '.')
			return false;
		put(r->now.section, sizeof r->now.section, &used, tolower(c));
	}
}

static bool escaped(struct reader *r, size_t *used)
{
	int c = next(r);
	switch (c) {
	case '\n':
		return true;
	case 't':
		c = '\t';
		break;
	case 'b':
		c = '\b';
		break;
	case 'n':
		c = '\n';
		break;
	case '\\':
	case '"':
		break;
	default:
		return false;
	}
	put(r->now.value, sizeof r->now.value, used, c);
	return true;
}

static bool value(struct reader *r)
{
	bool quoted = false, comment = false;
	size_t used = 0, spaces = 0;
	for (;;) {
		int c = next(r);
		if (c == '\n') {
			close_text(r->now.value, sizeof r->now.value, used);
			return !quoted;
		}
		if (comment)
			continue;
		if (is_space(c) && !quoted) {
			spaces += used > 0; /* those at the end are not part of it */
			continue;
		}
		if ((c == ';' || c == '#') && !quoted) {
			comment = true;
			continue;
		}
		for (; spaces; spaces--)
			put(r->now.value, sizeof r->now.value, &used, ' ');
		if (c == '"')
			quoted = !quoted;
		else if (c != '\\')
			put(r->now.value, sizeof r->now.value, &used, c);
		else if (!escaped(r, &used))
			return false;
	}
}

static bool variable(struct reader *r, int c)
{
	size_t used = 0;
	for (; isalnum(c) || c == '-'; c = next(r))
		put(r->now.key, sizeof r->now.key, &used, tolower(c));
	close_text(r->now.key, sizeof r->now.key, used);
	while (c == ' ' || c == '\t')
		c = next(r);
	if (c == '=')
		return value(r);
	strcpy(r->now.value, "true");
	return c == '\n';
}

bool aj_gitconfig_read(const char *text, size_t bytes, void (*each)(void *arg, const struct aj_gitconfig *variable), void *arg)
{
	struct reader r = { .at = text, .end = text + bytes };
	if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.at += 3;
	while (!done(&r)) {
		int c = next(&r);
		if (is_space(c))
			continue;
		if (c == '#' || c == ';') {
			while (next(&r) != '\n')
				;
			continue;
		}
		if (c == '[') {
			if (!section(&r))
				return false;
			continue;
		}
		/* Also before the first section: git reads on. */
		if (!isalpha(c) || !variable(&r, c))
			return false;
		each(arg, &r.now);
	}
	return true;
}
