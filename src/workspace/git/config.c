/* Reads the format of git-config(1): sections, subsections in quotes, escapes, comments, continued lines.
 * It opens nothing, follows no include and keeps no text: a jail may have written the file, so every length is bounded. */
#include "workspace/git/config.h"

#include <ctype.h>
#include <string.h>

struct config_reader {
	const char *at, *end;
	struct aj_gitconfig now;
};

/* As in git: a carriage return before a newline is dropped, and the end of the file counts as a newline. */
static int next_char(struct config_reader *r)
{
	if (r->at + 1 < r->end && r->at[0] == '\r' && r->at[1] == '\n')
		r->at++;
	return r->at < r->end ? (unsigned char)*r->at++ : '\n';
}

/* Git's isspace(), which excludes vertical tab and form feed: a value that ends with one keeps it. */
static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool at_end(const struct config_reader *r)
{
	return r->at >= r->end;
}

static void append_char(char *out, size_t room, size_t *used, int c)
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

static bool read_subsection(struct config_reader *r)
{
	size_t used = strlen(r->now.subsection); /* `[a.b "c"]` is b.c of a */
	int c;
	if (used)
		append_char(r->now.subsection, sizeof r->now.subsection, &used, '.');
	do
		c = next_char(r);
	while (c == ' ' || c == '\t');
	if (c != '"')
		return false;
	while ((c = next_char(r)) != '"') {
		if (c == '\\')
			c = next_char(r);
		if (c == '\n')
			return false;
		append_char(r->now.subsection, sizeof r->now.subsection, &used, c);
	}
	close_text(r->now.subsection, sizeof r->now.subsection, used);
	return next_char(r) == ']';
}

static bool read_section(struct config_reader *r)
{
	size_t used = 0;
	r->now.subsection[0] = '\0';
	for (;;) {
		int c = next_char(r);
		if (c == ']' || c == ' ' || c == '\t') {
			close_text(r->now.section, sizeof r->now.section, used);
			/* The deprecated syntax for a subsection: [section.subsection]. */
			char *dot = strchr(r->now.section, '.');
			if (dot) {
				strcpy(r->now.subsection, dot + 1);
				*dot = '\0';
			}
			return c == ']' || read_subsection(r);
		}
		if (!isalnum(c) && c != '-' && c != '.')
			return false;
		append_char(r->now.section, sizeof r->now.section, &used, tolower(c));
	}
}

static bool read_escape(struct config_reader *r, size_t *used)
{
	int c = next_char(r);
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
	append_char(r->now.value, sizeof r->now.value, used, c);
	return true;
}

static bool read_value(struct config_reader *r)
{
	bool quoted = false, comment = false;
	size_t used = 0, spaces = 0;
	for (;;) {
		int c = next_char(r);
		if (c == '\n') {
			close_text(r->now.value, sizeof r->now.value, used);
			return !quoted;
		}
		if (comment)
			continue;
		if (is_space(c) && !quoted) {
			spaces += used > 0; /* trailing spaces are not part of the value */
			continue;
		}
		if ((c == ';' || c == '#') && !quoted) {
			comment = true;
			continue;
		}
		for (; spaces; spaces--)
			append_char(r->now.value, sizeof r->now.value, &used, ' ');
		if (c == '"')
			quoted = !quoted;
		else if (c != '\\')
			append_char(r->now.value, sizeof r->now.value, &used, c);
		else if (!read_escape(r, &used))
			return false;
	}
}

static bool read_variable(struct config_reader *r, int c)
{
	size_t used = 0;
	for (; isalnum(c) || c == '-'; c = next_char(r))
		append_char(r->now.key, sizeof r->now.key, &used, tolower(c));
	close_text(r->now.key, sizeof r->now.key, used);
	while (c == ' ' || c == '\t')
		c = next_char(r);
	if (c == '=')
		return read_value(r);
	strcpy(r->now.value, "true");
	return c == '\n';
}

bool aj_gitconfig_read(const char *text, size_t bytes, void (*each)(void *arg, const struct aj_gitconfig *variable), void *arg)
{
	struct config_reader r = { .at = text, .end = text + bytes };
	if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.at += 3;
	while (!at_end(&r)) {
		int c = next_char(&r);
		if (is_space(c))
			continue;
		if (c == '#' || c == ';') {
			while (next_char(&r) != '\n')
				;
			continue;
		}
		if (c == '[') {
			if (!read_section(&r))
				return false;
			continue;
		}
		/* Variables before the first section are accepted, as in git. */
		if (!isalpha(c) || !read_variable(&r, c))
			return false;
		each(arg, &r.now);
	}
	return true;
}
