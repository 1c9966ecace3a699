/* Python's keywords, and which names a variable can have. guest/layer/runtime/request.py has the same list
 * (tests/layer/test_twins.py compares).
 * Characters beyond ASCII are accepted: the Python in the jail refuses such names itself. */
#include "base/python_name.h"

#include <stddef.h>
#include <string.h>

bool aj_python_keyword(const char *name)
{
	static const char *const keywords[] = {
		"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
		"class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
		"from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
		"or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
	};
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
		if (strcmp(keywords[i], name) == 0)
			return true;
	return false;
}

const char *aj_python_name_bad(const char *name)
{
	if (aj_python_keyword(name))
		return "is a keyword of Python";
	if (strncmp(name, "__", 2) == 0)
		return "must not start with two underscores";
	if (*name >= '0' && *name <= '9')
		return "must not start with a digit";
	for (const char *c = name; *c; c++)
		if (!(*c & 0x80) && *c != '_' && !(*c >= '0' && *c <= '9') && !((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z'))
			return "is not a variable name: letters, digits and _";
	return *name ? NULL : "is empty";
}
