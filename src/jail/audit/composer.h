/* Composes a record within size budgets, which are counted in bytes of escaped JSON. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

struct aj_composer {
	json_t *doc;
	bool truncated; /* bytes were left out */
};

/* Any bytes as a JSON string of at most *budget bytes, which the budget is reduced by. Invalid UTF-8, and a backslash
 * that begins a text of the form \xNN, are written as \xNN; JSON itself escapes control characters. */
json_t *aj_composer_text(struct aj_composer *composer, const char *s, size_t bytes, size_t *budget);
/* A string in a list, whose quotes and comma count too; NULL when the budget is too small for a useful part of it. */
json_t *aj_composer_item(struct aj_composer *composer, const char *s, size_t bytes, size_t *budget);
/* A C string with a budget of its own; null for NULL. */
json_t *aj_composer_short(struct aj_composer *composer, const char *s, size_t budget);
