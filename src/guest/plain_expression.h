/* Recognises a line that is one expression of plain names, by its text alone: no syntax tree is needed to accept that code.
 * All other code is declined, and goes to the walk over its tree. */
#pragma once
#include <stdbool.h>

#include "guest/python.h"

/* May `text`, if it is an expression at all, be compiled as it stands? Each word in it must be a name that neither the walk nor
 * the checker judges, and it binds no name. */
bool aj_plain_is_expression(const char *text, ssize_t bytes);
/* Printable ASCII alone. */
bool aj_plain_is_ascii(const char *text, ssize_t bytes);
