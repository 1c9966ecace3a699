/* Lines of help texts, at most 80 columns wide. */
#pragma once
#include <stdio.h>

void aj_help_heading(FILE *out, const char *heading);
/* Print `left` in the first column and `text`, wrapped, in the second. */
void aj_help_row(FILE *out, const char *left, const char *text);
