/* Is the text typed so far a whole snippet? */
#pragma once
#include <stdbool.h>

/* `text` ends with a newline. False: read another line. The text is not parsed: one that Python refuses may be complete as well. */
bool aj_statement_complete(const char *text);
