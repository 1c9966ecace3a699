/* Decides line by line whether a snippet continues: by open brackets and strings, a colon at the end of a line, a decorator.
 * This is a heuristic without a parser: an error only costs the user one more empty line or one more statement. */
#include "cli/shell/statement.h"

#include <stddef.h>
#include <string.h>

struct scan {
	const char *at;
	int depth;                /* of brackets; Python refuses text where it is below zero */
	bool open;                /* a string or a backslash continues on the next line */
	bool compound;            /* a statement with a block has begun */
	bool ended;               /* and a statement after it: the block is over */
	bool indented;            /* the logical line */
	bool decorated;           /* the logical line, by the one before it */
	const char *text, *start; /* start: the logical line's first character but blanks */
	char first, last;         /* of the logical line: its first and last characters but blanks and comments */
};

/* Skip a string from after its opening quote to after its end, or to the end of the line for an unterminated one. */
static void skip_string(struct scan *s, char quote)
{
	bool triple = s->at[0] == quote && s->at[1] == quote;
	s->at += triple ? 2 : 0;
	for (; *s->at; s->at++) {
		if (*s->at == '\\' && s->at[1]) {
			s->at++;
			s->open = *s->at == '\n' && !s->at[1];
		} else if (triple && s->at[0] == quote && s->at[1] == quote && s->at[2] == quote) {
			s->at += 3;
			return;
		} else if (!triple && (*s->at == quote || *s->at == '\n')) {
			s->at += *s->at == quote;
			return;
		}
	}
	s->open |= triple;
}

/* A clause that belongs to the statement before it: another one may follow. */
static bool is_clause(const char *line)
{
	static const char *const words[] = { "elif", "else", "except", "finally" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strncmp(line, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

static void end_of_line(struct scan *s)
{
	if (s->depth > 0)
		return;
	bool header = s->last == ':' || s->first == '@';
	if (s->first) {
		s->ended = s->compound && !header && !s->decorated && !s->indented && !is_clause(s->start);
		s->decorated = s->first == '@';
	}
	s->compound |= header;
	s->first = s->last = '\0';
}

static void scan_character(struct scan *s)
{
	char c = *s->at++;
	if (c == '#') {
		s->at += strcspn(s->at, "\n");
		return;
	}
	if (c == '\n') {
		end_of_line(s);
		return;
	}
	if (c == '\\' && *s->at == '\n') {
		s->open = !s->at[1];
		s->at++;
		return;
	}
	if (c == ' ' || c == '\t' || c == '\r' || c == '\f')
		return;
	if (!s->first) {
		s->first = c;
		s->start = s->at - 1;
		s->indented = s->start > s->text && s->start[-1] != '\n';
	}
	s->last = c;
	if (strchr("([{", c))
		s->depth++;
	else if (strchr(")]}", c))
		s->depth--;
	else if (c == '"' || c == '\'')
		skip_string(s, c);
}

static bool last_line_is_empty(const char *text)
{
	size_t bytes = strlen(text);
	bytes -= bytes && text[bytes - 1] == '\n';
	while (bytes && strchr(" \t\r", text[bytes - 1]))
		bytes--;
	return bytes == 0 || text[bytes - 1] == '\n';
}

bool aj_statement_complete(const char *text)
{
	struct scan s = { .at = text, .text = text };
	while (*s.at)
		scan_character(&s);
	return s.depth <= 0 && !s.open && (!s.compound || s.ended || last_line_is_empty(text));
}
