/* Is the text typed so far a whole snippet? */
#pragma once
#include <stdbool.h>

/* `text` ends with a newline. False: read another line. It is not parsed: a text that Python rejects may be complete too. */
bool aj_statement_complete(const char *text);
