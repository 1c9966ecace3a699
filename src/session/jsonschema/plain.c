/* Replaces the typed tags that schemas can express: tuples and integers of 64 bits.
 * It decodes no other tag, which its reader interprets, and rounds no number. */
#include "session/jsonschema/plain.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct survey {
	size_t nodes;
	bool tags;
};

/* Check the caps, and whether there are tags. Its depth is bounded, so the recursion after it is, too. */
static const char *survey_value(struct survey *s, const json_t *value, int depth)
{
	const char *key, *why = NULL;
	json_t *item;
	size_t i;
	if (depth > AJ_VALUE_MAX_DEPTH)
		return "the value is nested too deep";
	if (++s->nodes > AJ_VALUE_MAX_NODES)
		return "the value has too many parts";
	s->tags |= json_object_get(value, "__type__") != NULL;
	json_object_foreach((json_t *)value, key, item)
		if ((why = survey_value(s, item, depth + 1)))
			return why;
	json_array_foreach(value, i, item)
		if ((why = survey_value(s, item, depth + 1)))
			return why;
	return NULL;
}

/* Parse the text of an int tag: decimal as Python prints it, of 64 bits. Hexadecimal text is used for far longer ints. */
static bool small_int(const char *text, intmax_t *ret)
{
	const char *digits = text + (*text == '-');
	char *end;
	if (*digits < '1' || *digits > '9')
		return false;
	errno = 0;
	*ret = strtoimax(text, &end, 10);
	return !errno && !*end;
}

static json_t *convert(json_t *value)
{
	const char *key, *tag = json_string_value(json_object_get(value, "__type__"));
	json_t *item, *data = tag && json_object_size(value) == 2 ? json_object_get(value, "data") : NULL, *copy;
	intmax_t number;
	size_t i;
	if (data && strcmp(tag, "int") == 0 && json_is_string(data) && small_int(json_string_value(data), &number))
		return json_integer(number);
	if (data && strcmp(tag, "tuple") == 0 && json_is_array(data))
		return convert(data);
	if (!json_is_object(value) && !json_is_array(value))
		return json_incref(value);
	/* Jansson refuses a NULL, from a failed allocation below, and the failure propagates. */
	bool whole = true;
	copy = json_is_object(value) ? json_object() : json_array();
	json_object_foreach(value, key, item)
		whole = whole && json_object_set_new_nocheck(copy, key, convert(item)) == 0;
	json_array_foreach(value, i, item)
		whole = whole && json_array_append_new(copy, convert(item)) == 0;
	if (!whole)
		json_decref(copy);
	return whole ? copy : NULL;
}

json_t *aj_plain(json_t *value, const char **ret_why)
{
	struct survey survey = { 0 };
	*ret_why = survey_value(&survey, value, 1);
	if (*ret_why)
		return NULL;
	json_t *plain = survey.tags ? convert(value) : json_incref(value);
	*ret_why = plain ? NULL : "out of memory for the value";
	return plain;
}
