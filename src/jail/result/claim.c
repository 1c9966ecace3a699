/* Checks a guest's claim about its snippet: every member, at any depth, against the table of a result's fields, by type and size.
 * It does not check whether a claim is true, repairs none, and drops no member: an invalid claim is refused as a whole. */
#include "jail/result/claim.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/json/tree.h"
#include "base/text.h"
#include "jail/result/bundle.h"
#include "jail/result/fields.h"

enum { MAX_TREE_BYTES = 40 << 20, MAX_DEPTH = 200 };

/* The name of the member that row `f` is of the object of row `object`, or NULL: it is not one of its members. */
static const char *member_name(const struct aj_field *f, const struct aj_field *object)
{
	const char *path = object->like ? object->like : object->path, *name = f->path;
	size_t bytes = strlen(path);
	if (strncmp(name, path, bytes) != 0 || name[bytes] != '.')
		return NULL;
	name += bytes + 1;
	return aj_field_is_name(name) ? name : NULL;
}

/* `object`: NULL for the result itself. The comparison comes first, as it ends at the first character of most rows. */
static bool is_member(const struct aj_field *f, const struct aj_field *object, const char *wanted)
{
	if (!object)
		return f->sent && strcmp(f->path, wanted) == 0 && aj_field_is_name(wanted);
	const char *name = f->sent ? member_name(f, object) : NULL;
	return name && strcmp(name, wanted) == 0;
}

/* NULL: a guest may send no member of this name. `after`: the row of the member before it, or NULL: a runner writes members in
 * the table's order, so the search begins there. */
static const struct aj_field *find_member(const struct aj_field *object, const char *wanted, const struct aj_field *after)
{
	const struct aj_field *first = after ? after + 1 : aj_fields, *f = first;
	do {
		if (!f->path) {
			f = aj_fields;
			continue;
		}
		if (is_member(f, object, wanted))
			return f;
		f++;
	} while (f != first);
	return NULL;
}

/* The row of an array's items follows the array's own. */
static const struct aj_field *item_of(const struct aj_field *array)
{
	size_t bytes = strlen(array->path);
	return strncmp(array[1].path, array->path, bytes) == 0 && strcmp(array[1].path + bytes, "[]") == 0 ? &array[1] : NULL;
}

static unsigned type_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return AJ_FIELD_STRING;
	case JSON_INTEGER:
		return AJ_FIELD_INTEGER;
	case JSON_TRUE:
	case JSON_FALSE:
		return AJ_FIELD_BOOLEAN;
	case JSON_OBJECT:
		return AJ_FIELD_OBJECT;
	case JSON_ARRAY:
		return AJ_FIELD_ARRAY;
	case JSON_NULL:
		return AJ_FIELD_NULL;
	default:
		return 0; /* a real number */
	}
}

static bool fits(const struct aj_field *field, const json_t *value);

static bool has_required(const struct aj_field *object, const json_t *value)
{
	for (const struct aj_field *f = aj_fields; f->path; f++) {
		const char *name = f->sent && !f->when ? member_name(f, object) : NULL;
		if (name && !json_object_get(value, name))
			return false;
	}
	return true;
}

static bool members_fit(const struct aj_field *object, const json_t *value)
{
	const char *name;
	json_t *member;
	const struct aj_field *field = NULL;
	json_object_foreach((json_t *)value, name, member) {
		field = find_member(object, name, field);
		if (!field || !fits(field, member))
			return false;
	}
	return has_required(object, value);
}

static bool items_fit(const struct aj_field *array, const json_t *value)
{
	const struct aj_field *item = item_of(array);
	size_t i;
	json_t *one;
	if (!item || (array->most && json_array_size(value) > array->most))
		return false;
	json_array_foreach(value, i, one)
		if (!fits(item, one))
			return false;
	return true;
}

/* Strings are read as C strings from here on, but in a value of any type, which is the code's own. */
static bool fits(const struct aj_field *field, const json_t *value)
{
	unsigned type = type_of(value);
	if (field->types == AJ_FIELD_ANY)
		return true;
	if (strcmp(field->path, "results") == 0)
		return aj_bundles_are_valid(value);
	if (!(field->types & type))
		return false;
	switch (type) {
	case AJ_FIELD_STRING:
		return !aj_json_has_nul(value) && (!field->most || json_string_length(value) <= field->most) &&
		       (!field->words || aj_has_word(field->words, json_string_value(value)));
	case AJ_FIELD_INTEGER:
		return json_integer_value(value) >= INT32_MIN && json_integer_value(value) <= INT32_MAX;
	case AJ_FIELD_OBJECT:
		return members_fit(field, value);
	case AJ_FIELD_ARRAY:
		return items_fit(field, value);
	default:
		return true;
	}
}

static bool has_a_status(const json_t *claim)
{
	const char *status = aj_claim_status(claim);
	return status && aj_has_word("ok error rejected", status);
}

/* NULL, or the reason why this is not a claim; `room` has space for it. */
static const char *misfit(json_t *claim, char *room, size_t room_bytes)
{
	const char *name;
	json_t *value;
	const struct aj_field *field = NULL;
	json_object_foreach(claim, name, value) {
		field = find_member(NULL, name, field);
		if (field && fits(field, value))
			continue;
		snprintf(room, room_bytes, "unknown key, or key with a wrong value: `%.60s`", name);
		return room;
	}
	if (!has_a_status(claim))
		return "a status that a runner may not claim";
	if (strcmp(aj_claim_status(claim), "ok") == 0 && json_is_object(json_object_get(claim, "error")))
		return "the status `ok` with an error";
	return NULL;
}

json_t *aj_claim_parse(const char *text, size_t bytes, char *ret_reason, size_t reason_bytes)
{
	const char *wrong;
	char room[120];
	if (aj_json_tree_bytes(text, bytes, MAX_DEPTH) > MAX_TREE_BYTES) {
		snprintf(ret_reason, reason_bytes,
		         "the result would take more than %d MiB of memory, or is nested more than %d deep", MAX_TREE_BYTES >> 20,
		         MAX_DEPTH);
		return NULL;
	}
	json_t *claim = aj_json_read(text, bytes, &wrong);
	if (!json_is_object(claim)) {
		snprintf(ret_reason, reason_bytes, "not a JSON object: %s", claim ? "another type" : wrong);
		json_decref(claim);
		return NULL;
	}
	const char *why = misfit(claim, room, sizeof room);
	if (!why)
		return claim;
	snprintf(ret_reason, reason_bytes, "%s", why);
	json_decref(claim);
	return NULL;
}

const char *aj_claim_status(const json_t *claim)
{
	return json_string_value(json_object_get(claim, "status"));
}
