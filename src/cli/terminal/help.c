/* Formats help texts. */
#include "cli/terminal/help.h"

#include <string.h>

#include "cli/terminal/guard.h"

enum { COLUMNS = 80, LEFT = 28 };

void aj_help_heading(FILE *out, const char *heading)
{
	aj_colour(out, AJ_COLOUR_HEADING);
	fprintf(out, "\n%s:", heading);
	aj_colour(out, AJ_COLOUR_NONE);
	fputc('\n', out);
}

void aj_help_row(FILE *out, const char *left, const char *text)
{
	int column = fprintf(out, "  %s", left);
	if (column > LEFT - 2) {
		fputc('\n', out);
		column = 0;
	}
	column += fprintf(out, "%*s", LEFT - column, "");
	for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
		int bytes = (int)strcspn(word, " ");
		if (column > LEFT && column + 1 + bytes > COLUMNS)
			column = fprintf(out, "\n%*s", LEFT, "") - 1;
		column += fprintf(out, "%s%.*s", column > LEFT ? " " : "", bytes, word);
		word += bytes;
	}
	fputc('\n', out);
}
