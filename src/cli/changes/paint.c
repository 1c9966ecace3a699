/* Finds what each line of a patch is by the line counts of its hunks, as a line of a file may look like a header. */
#include "cli/changes/paint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

enum { WRITTEN_AT_ONCE = 64 << 10 };

#define NONE ""
#define META "\033[1m"
#define HUNK "\033[36m"
#define OLD "\033[31m"
#define NEW "\033[32m"
#define RESET "\033[m"

static void flush(struct aj_paint *p)
{
	p->failed |= p->out.bytes && aj_write_all(STDOUT_FILENO, p->out.data, p->out.bytes) < 0;
	p->out.bytes = 0;
}

static void put_text(struct aj_paint *p, const char *colour, const char *text, size_t bytes)
{
	bool coloured = p->colours && *colour && bytes;
	aj_buffer_text(&p->out, coloured ? colour : "");
	char *room = aj_buffer_reserve(&p->out, 4 * bytes + 1);
	p->out.bytes += aj_printable(room, text, bytes);
	aj_buffer_text(&p->out, coloured ? RESET : "");
}

static bool begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

/* "-12,3" or "-12", which is one line. */
static const char *read_range(const char *at, uint64_t *ret_lines)
{
	char *end;
	strtoull(at, &end, 10);
	*ret_lines = *end == ',' ? strtoull(end + 1, &end, 10) : 1;
	return end;
}

static const char *colour_of_hunk_line(struct aj_paint *p, char first)
{
	p->old_lines -= p->old_lines && first != '+';
	p->new_lines -= p->new_lines && first != '-';
	return first == '+' ? NEW : first == '-' ? OLD : NONE;
}

static void put_line(struct aj_paint *p, const char *line, size_t bytes)
{
	static const char *const heads[] = { "diff --git ",       "--- ", "+++ ", "old mode ", "new mode ", "new file mode ",
		                             "deleted file mode " };
	const char *colour = NONE, *end;
	if (p->old_lines || p->new_lines) {
		colour = line[0] == '\\' ? NONE : colour_of_hunk_line(p, line[0]);
	} else if (begins(line, "@@ -")) {
		end = read_range(line + 4, &p->old_lines);
		end = *end == ' ' && end[1] == '+' ? read_range(end + 2, &p->new_lines) : end;
		end = strstr(end, "@@");
		size_t head = end ? (size_t)(end + 2 - line) : bytes;
		put_text(p, HUNK, line, head);
		put_text(p, NONE, line + head, bytes - head);
		return;
	} else {
		for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
			if (begins(line, heads[i]))
				colour = META;
	}
	put_text(p, colour, line, bytes);
}

void aj_paint_put(struct aj_paint *p, const char *data, size_t bytes)
{
	while (bytes && !p->failed) {
		const char *newline = memchr(data, '\n', bytes);
		size_t part = newline ? (size_t)(newline - data) : bytes;
		aj_buffer_add(&p->line, data, part);
		data += part + (newline != NULL);
		bytes -= part + (newline != NULL);
		if (!newline)
			return;
		size_t whole = p->line.bytes;
		aj_buffer_add(&p->line, "", 1);
		put_line(p, p->line.data, whole);
		aj_buffer_add(&p->out, "\n", 1);
		p->line.bytes = 0;
		if (p->out.bytes >= WRITTEN_AT_ONCE)
			flush(p);
	}
}

void aj_paint_end(struct aj_paint *p)
{
	if (p->line.bytes)
		aj_paint_put(p, "\n", 1);
	flush(p);
	aj_buffer_free(&p->line);
	aj_buffer_free(&p->out);
}
