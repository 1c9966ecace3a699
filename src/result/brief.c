/* Takes out of a result what a program that reads thousands of them does not need.
 * It removes whole members of the result alone, and none that tells of a failure, a limit, a cut or a refusal. */
#include <string.h>

#include "result/fields.h"
#include "result/result.h"

static bool is_empty(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_NULL:
	case JSON_FALSE:
		return true;
	case JSON_STRING:
		return json_string_length(value) == 0;
	case JSON_ARRAY:
		return json_array_size(value) == 0;
	case JSON_OBJECT:
		return json_object_size(value) == 0;
	default:
		return false;
	}
}

static bool says_nothing(const char *name, const json_t *value)
{
	const char *inner;
	json_t *member;
	if (strcmp(name, "violations_seen") == 0)
		return json_is_true(value);
	if (strcmp(name, "audit") == 0)
		return json_is_true(json_object_get(value, "recorded"));
	if (strcmp(name, "truncated") != 0)
		return is_empty(value);
	json_object_foreach((json_t *)value, inner, member)
		if (json_is_true(member))
			return false;
	return true;
}

void aj_result_make_brief(json_t *result)
{
	for (const struct aj_field *f = aj_fields; f->path; f++) {
		const json_t *value = aj_field_is_top(f) ? json_object_get(result, f->path) : NULL;
		if (value && (f->unbrief || says_nothing(f->path, value)))
			json_object_del(result, f->path);
	}
}
