/* Lines of help texts, at most 80 columns wide. */
#pragma once
#include <stdio.h>

void aj_help_heading(FILE *out, const char *heading);
/* `left` in a column of its own, and the words of `text` beside it in as many lines as they take. */
void aj_help_row(FILE *out, const char *left, const char *text);
