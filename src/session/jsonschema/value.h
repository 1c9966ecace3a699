/* JSON values by the rules of JSON Schema: types, numbers, equality. Comparisons take steps from the caller's budget.
 * 1 and 1.0 are the same number, the order of keys is ignored, and true is not 1. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { AJ_SCHEMA_MAX_CHECK_DEPTH = 512 };

/* A value may have several bits: an integral number is INTEGER and NUMBER. */
enum aj_type {
	AJ_TYPE_NULL = 1,
	AJ_TYPE_BOOLEAN = 2,
	AJ_TYPE_OBJECT = 4,
	AJ_TYPE_ARRAY = 8,
	AJ_TYPE_NUMBER = 16,
	AJ_TYPE_STRING = 32,
	AJ_TYPE_INTEGER = 64,
	AJ_TYPE_TAGGED = 128, /* an object with a string "__type__": a value that JSON cannot express */
};
enum { AJ_TYPE_ANY = 255 };

unsigned aj_type_of(const json_t *value);
/* The bit of a type's name: "null", "boolean" ... "integer"; 0 for any other name. */
unsigned aj_type_bit(const char *name);
/* The value's type for messages: "string", "integer", "a tagged set". The text is static, or in `room`. */
const char *aj_type_name(const json_t *value, char room[48]);
/* The names of `types` for messages: "number", "integer or null", "string, array or object". */
const char *aj_types_text(unsigned types, char room[80]);

/* Exact for every number that jansson holds. */
long double aj_json_number(const json_t *value);
struct aj_budget {
	size_t steps;
	bool spent; /* the budget was exceeded: every result since then is invalid */
};
bool aj_spend(struct aj_budget *budget, size_t steps);
/* Steps that reading a text of so many bytes takes. */
static inline size_t aj_text_steps(size_t bytes)
{
	return 1 + bytes / 64;
}

/* Is the number an integral multiple of `step`, which is above 0? Fractions count as the decimals that they are written as. */
bool aj_multiple_of(struct aj_budget *budget, long double number, long double step);
bool aj_json_equal(struct aj_budget *budget, const json_t *a, const json_t *b);
/* Are no two items equal? False with the indices of two equal ones. */
bool aj_json_unique(struct aj_budget *budget, const json_t *array, size_t *ret_first, size_t *ret_second);
