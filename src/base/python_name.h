/* Names that Python code can use for a variable. */
#pragma once
#include <stdbool.h>

bool aj_python_keyword(const char *name);
/* Why `name` cannot be a variable of a snippet, NULL when it can: for ASCII exactly; Python decides on other characters. */
const char *aj_python_name_bad(const char *name);
