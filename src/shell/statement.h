/* When is what was typed so far a whole snippet? */
#pragma once
#include <stdbool.h>

/* `text` ends with a newline. False: ask for another line. It does not parse: text that Python refuses is whole as well. */
bool aj_statement_complete(const char *text);
