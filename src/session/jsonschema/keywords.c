/* The table of keywords, and a parser for each argument.
 * It refuses malformed arguments, and keywords that would promise a check which is not made. */
#include <string.h>

#include "session/jsonschema/keyword.h"

static bool compile_at(struct aj_compiler *c, struct aj_rule *rule, size_t i, const struct aj_pointer *at, const json_t *json)
{
	return (rule->schemas[i] = aj_compile(c, at, json)) != NULL;
}

static void allocate_schemas(struct aj_compiler *c, struct aj_rule *rule, size_t count)
{
	rule->count = count;
	rule->schemas = aj_alloc(c->arena, count * sizeof(void *));
	rule->keys = aj_alloc(c->arena, count * sizeof(void *));
}

#define PARSE(name)                                                                                                    \
	static bool name(struct aj_compiler *c, struct aj_rule *rule, const struct aj_pointer *at, const json_t *json, \
	                 const json_t *schema)
#define UNUSED (void)c, (void)rule, (void)at, (void)json, (void)schema

PARSE(types)
{
	UNUSED;
	size_t count = json_is_array(json) ? json_array_size(json) : 1;
	if (json_is_array(json) && count == 0)
		return aj_malformed(c, at, "an empty list, which no value would fit");
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_is_array(json) ? json_array_get(json, i) : json;
		unsigned bit = json_is_string(one) ? aj_type_bit(json_string_value(one)) : 0;
		if (!bit)
			return aj_malformed(c, at,
			                    "takes null, boolean, integer, number, string, array, object, or a list of them");
		if (rule->types & bit)
			return aj_malformed(c, at, "names a type twice");
		rule->types |= bit;
	}
	return true;
}

PARSE(one_schema)
{
	UNUSED;
	allocate_schemas(c, rule, 1);
	return compile_at(c, rule, 0, at, json);
}

PARSE(schemas)
{
	UNUSED;
	if (!json_is_array(json) || json_array_size(json) == 0)
		return aj_malformed(c, at, "takes a list of at least one schema");
	allocate_schemas(c, rule, json_array_size(json));
	for (size_t i = 0; i < rule->count; i++)
		if (!compile_at(c, rule, i, aj_compile_pointer(c, at, NULL, i), json_array_get(json, i)))
			return false;
	return true;
}

PARSE(properties)
{
	UNUSED;
	size_t i = 0;
	const char *key;
	json_t *value;
	if (!json_is_object(json))
		return aj_malformed(c, at, "takes an object of schemas");
	allocate_schemas(c, rule, json_object_size(json));
	json_object_foreach((json_t *)json, key, value) {
		const struct aj_pointer *here = aj_compile_pointer(c, at, key, 0);
		if (strcmp(key, "__type__") == 0)
			return aj_malformed(c, here, "this is the name of a typed tag, which is not an object");
		rule->keys[i] = key;
		rule->cost += aj_text_steps(strlen(key));
		if (!compile_at(c, rule, i++, here, value))
			return false;
	}
	return true;
}

PARSE(additional)
{
	const json_t *beside = json_object_get(schema, "properties");
	rule->json = json_is_object(beside) ? beside : NULL;
	return one_schema(c, rule, at, json, schema);
}

PARSE(items)
{
	const json_t *prefix = json_object_get(schema, "prefixItems");
	if (json_is_array(json))
		return aj_malformed(c, at, "takes one schema; since 2020-12 the keyword for a list of schemas is prefixItems");
	rule->skip = json_is_array(prefix) ? json_array_size(prefix) : 0;
	return one_schema(c, rule, at, json, schema);
}

PARSE(names)
{
	UNUSED;
	bool good = json_is_array(json);
	allocate_schemas(c, rule, good ? json_array_size(json) : 0);
	json_t *seen = json_object();
	for (size_t i = 0; good && i < rule->count; i++) {
		const json_t *name = json_array_get(json, i);
		rule->keys[i] = json_string_value(name);
		rule->cost += aj_text_steps(json_string_length(name));
		good = rule->keys[i] && strlen(rule->keys[i]) == json_string_length(name) &&
		       !json_object_get(seen, rule->keys[i]) && json_object_set_new(seen, rule->keys[i], json_true()) == 0;
	}
	json_decref(seen);
	return good || aj_malformed(c, at, "takes a list of different names");
}

PARSE(reference)
{
	static const char prefix[] = "#/$defs/";
	const char *to = json_string_value(json);
	UNUSED;
	allocate_schemas(c, rule, 1);
	if (!to || strncmp(to, prefix, strlen(prefix)) != 0 || strpbrk(to + strlen(prefix), "/~%"))
		return aj_malformed(c, at, "takes \"#/$defs/NAME\" only, and NAME without `/`, `~` and `%%`");
	for (size_t i = 0; i < c->def_count; i++)
		if (strcmp(c->defs[i].name, to + strlen(prefix)) == 0) {
			rule->schemas[0] = c->defs[i].schema;
			return true;
		}
	return aj_malformed(c, at, "there is no such definition in `$defs` at the root");
}

/* list_definitions() has made an entry for each, so that any of them may refer to any other. */
PARSE(definitions)
{
	UNUSED;
	const char *key;
	json_t *value;
	size_t i = 0;
	if (at->up)
		return aj_malformed(c, at, "only the schema at the root may have definitions");
	if (!json_is_object(json))
		return aj_malformed(c, at, "takes an object of schemas");
	json_object_foreach((json_t *)json, key, value)
		if (!aj_compile_into(c, c->defs[i++].schema, aj_compile_pointer(c, at, key, 0), value))
			return false;
	return true;
}

PARSE(alternatives)
{
	UNUSED;
	return (json_is_array(json) && json_array_size(json) > 0) || aj_malformed(c, at, "takes a list of at least one value");
}

PARSE(anything)
{
	UNUSED;
	return true;
}

PARSE(count)
{
	UNUSED;
	long double number = json_is_number(json) ? aj_json_number(json) : -1;
	if (number < 0 || number > 0x1p53L || !(aj_type_of(json) & AJ_TYPE_INTEGER))
		return aj_malformed(c, at, "takes a whole number of at least 0");
	rule->count = (size_t)number;
	return true;
}

PARSE(number)
{
	UNUSED;
	rule->number = json_is_number(json) ? aj_json_number(json) : 0;
	return json_is_number(json) || aj_malformed(c, at, "takes a number");
}

PARSE(step)
{
	UNUSED;
	rule->number = json_is_number(json) ? aj_json_number(json) : 0;
	return rule->number > 0 || aj_malformed(c, at, "takes a number above 0");
}

PARSE(flag)
{
	UNUSED;
	rule->count = json_is_true(json);
	return json_is_boolean(json) || aj_malformed(c, at, "takes true or false");
}

PARSE(text)
{
	UNUSED;
	return json_is_string(json) || aj_malformed(c, at, "takes a string");
}

PARSE(list)
{
	UNUSED;
	return json_is_array(json) || aj_malformed(c, at, "takes a list");
}

/* The subset's keywords mean the same in draft 7, but for $ref: draft 7 ignores the keywords beside it, and we check them. */
PARSE(dialect)
{
	static const char *const known[] = { "https://json-schema.org/draft/2020-12/schema",
		                             "http://json-schema.org/draft-07/schema#",
		                             "http://json-schema.org/draft-07/schema" };
	UNUSED;
	if (at->up)
		return aj_malformed(c, at, "only the schema at the root may name its dialect");
	for (size_t i = 0; json_is_string(json) && i < sizeof known / sizeof *known; i++)
		if (strcmp(json_string_value(json), known[i]) == 0)
			return true;
	return aj_malformed(c, at, "takes %s (or draft-07's)", known[0]);
}

enum {
	ANY = AJ_TYPE_ANY,
	OBJECT = AJ_TYPE_OBJECT,
	ARRAY = AJ_TYPE_ARRAY,
	STRING = AJ_TYPE_STRING,
	NUMBER = AJ_TYPE_NUMBER,
};

/* clang-format off */
const struct aj_keyword aj_keywords[] = {
	{ "type", ANY, false, "a name or a list of names",
	  "The value is of one of these types: `null`, `boolean`, `integer`, `number`, `string`, `array`, `object`. "
	  "1.0 is an `integer`, a typed tag is none of them", types, aj_check_type },
	{ "enum", ANY, false, "a list of values",
	  "The value equals one of these (1 equals 1.0, the order of keys means nothing)", alternatives, aj_check_enum },
	{ "const", ANY, false, "a value", "The value equals this one", anything, aj_check_const },
	{ "required", OBJECT, false, "a list of names", "The object has all of these keys", names, aj_check_required },
	{ "minProperties", OBJECT, false, "a count", "The object has at least this many keys", count, aj_check_min_size },
	{ "maxProperties", OBJECT, false, "a count", "The object has at most this many keys", count, aj_check_max_size },
	{ "properties", OBJECT, false, "an object of schemas",
	  "Each of these keys that the object has fits its schema", properties, aj_check_properties },
	{ "additionalProperties", OBJECT, false, "a schema or a boolean",
	  "Every key that `properties` in the same schema does not name fits this schema; "
	  "`false`: no other key is allowed", additional, aj_check_additional },
	{ "minItems", ARRAY, false, "a count", "The list has at least this many items", count, aj_check_min_size },
	{ "maxItems", ARRAY, false, "a count", "The list has at most this many items", count, aj_check_max_size },
	{ "prefixItems", ARRAY, false, "a list of schemas",
	  "The first item fits the first schema, the second item the second, and so on, as far as the list has items",
	  schemas, aj_check_prefix },
	{ "items", ARRAY, false, "a schema or a boolean",
	  "Every item after those of `prefixItems` fits this schema", items, aj_check_items },
	{ "uniqueItems", ARRAY, false, "a boolean", "`true`: no two items are equal", flag, aj_check_unique },
	{ "minLength", STRING, false, "a count", "The string has at least this many code points", count, aj_check_min_size },
	{ "maxLength", STRING, false, "a count", "The string has at most this many code points", count, aj_check_max_size },
	{ "minimum", NUMBER, false, "a number", "The value is this or more", number, aj_check_min },
	{ "maximum", NUMBER, false, "a number", "The value is this or less", number, aj_check_max },
	{ "exclusiveMinimum", NUMBER, false, "a number", "The value is more than this", number, aj_check_above },
	{ "exclusiveMaximum", NUMBER, false, "a number", "The value is less than this", number, aj_check_below },
	{ "multipleOf", NUMBER, false, "a number above 0",
	  "The value is a multiple of this number; fractions count as the decimals that they are written as, "
	  "up to a factor of 2^40", step, aj_check_multiple },
	{ "$ref", ANY, true, "`\"#/$defs/NAME\"`",
	  "The value fits that definition, and the keywords beside `$ref` too", reference, aj_check_all },
	{ "allOf", ANY, true, "a list of schemas", "The value fits all of them", schemas, aj_check_all },
	{ "anyOf", ANY, true, "a list of schemas", "The value fits at least one of them", schemas, aj_check_any },
	{ "oneOf", ANY, true, "a list of schemas", "The value fits exactly one of them", schemas, aj_check_one },
	{ "not", ANY, true, "a schema or a boolean", "The value does not fit this schema", one_schema, aj_check_not },
	{ "$defs", ANY, false, "an object of schemas", "Definitions for `$ref`; only at the root", definitions, NULL },
	{ "$schema", ANY, false, "a name", "The dialect, 2020-12 or draft-07; at the root only", dialect, NULL },
	{ "$comment", ANY, false, "a string", "For readers", text, NULL },
	{ "title", ANY, false, "a string", "For readers", text, NULL },
	{ "description", ANY, false, "a string", "For readers", text, NULL },
	{ "default", ANY, false, "a value",
	  "For readers, and for the signature of the function inside; "
	  "a check of a schema does not insert a missing value", anything, NULL },
	{ "examples", ANY, false, "a list of values", "For readers", list, NULL },
	{ "deprecated", ANY, false, "a boolean", "For readers", flag, NULL },
	{ "readOnly", ANY, false, "a boolean", "For readers", flag, NULL },
	{ "writeOnly", ANY, false, "a boolean", "For readers", flag, NULL },
	{ "format", ANY, false, "a string", "For readers: no string is checked for being an address or a date", text, NULL },
	{ 0 },
};

const struct aj_refused_keyword aj_refused_keywords[] = {
	{ "pattern", "the time of a regular expression cannot be bounded; use enum or maxLength, and match in the tool" },
	{ "patternProperties", "the time of a regular expression cannot be bounded; use properties and additionalProperties" },
	{ "propertyNames", "use properties and additionalProperties" },
	{ "contains", "check the value in the tool" },
	{ "minContains", "check the value in the tool" },
	{ "maxContains", "check the value in the tool" },
	{ "unevaluatedProperties", "use additionalProperties" },
	{ "unevaluatedItems", "use items" },
	{ "additionalItems", "use prefixItems and items" },
	{ "if", "use anyOf or oneOf" },
	{ "then", "use anyOf or oneOf" },
	{ "else", "use anyOf or oneOf" },
	{ "dependentRequired", "use anyOf" },
	{ "dependentSchemas", "use anyOf" },
	{ "dependencies", "use anyOf" },
	{ "definitions", "use $defs" },
	{ "nullable", "use \"type\": [\"null\", ...]" },
	{ "discriminator", "use oneOf with a const in each schema" },
	{ "contentEncoding", "decode in the tool" },
	{ "contentMediaType", "decode in the tool" },
	{ "contentSchema", "decode in the tool" },
	{ "$id", "a schema is one document without a name" },
	{ "$anchor", "use $defs and \"#/$defs/NAME\"" },
	{ "$dynamicRef", "use $ref" },
	{ "$dynamicAnchor", "use $defs" },
	{ "$vocabulary", "this is not a dialect" },
	{ 0 },
};
/* clang-format on */
