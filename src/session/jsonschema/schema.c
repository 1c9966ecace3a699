/* Compiles a JSON document to a schema: caps first, then every keyword by the table, then the chains of schemas on one value.
 * It refuses keywords that are not in the table, and a $ref that leads to itself on the same value, whose check would not end. */
#include "session/jsonschema/schema.h"

#include <stdint.h>
#include <string.h>

#include "session/jsonschema/keyword.h"

bool aj_malformed(struct aj_compiler *c, const struct aj_pointer *at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	aj_pointer_vformat(c->why, c->why_bytes, at, fmt, ap);
	va_end(ap);
	return false;
}

const struct aj_pointer *aj_compile_pointer(struct aj_compiler *c, const struct aj_pointer *up, const char *key, size_t index)
{
	struct aj_pointer *place = aj_alloc(c->arena, sizeof *place);
	*place = (struct aj_pointer){ up, key, index };
	return place;
}

/* Refuse a keyword that is not in the table, with advice if there is any. */
static bool check_known(struct aj_compiler *c, const struct aj_pointer *at, const char *key)
{
	for (const struct aj_keyword *k = aj_keywords; k->name; k++)
		if (strcmp(k->name, key) == 0)
			return true;
	at = aj_compile_pointer(c, at, key, 0);
	for (const struct aj_refused_keyword *r = aj_refused_keywords; r->name; r++)
		if (strcmp(r->name, key) == 0)
			return aj_malformed(c, at, "this keyword is not supported: %s", r->instead);
	return aj_malformed(c, at, "this keyword is unknown");
}

bool aj_compile_into(struct aj_compiler *c, struct aj_schema *into, const struct aj_pointer *at, const json_t *json)
{
	const char *key;
	json_t *argument;
	into->place = at;
	into->types = AJ_TYPE_ANY;
	into->never = json_is_false(json);
	if (json_is_boolean(json))
		return true;
	if (!json_is_object(json))
		return aj_malformed(c, at, "a schema must be an object, true or false");
	json_object_foreach((json_t *)json, key, argument)
		if (!check_known(c, at, key))
			return false;
	into->rules = aj_alloc(c->arena, json_object_size(json) * sizeof *into->rules);
	for (const struct aj_keyword *k = aj_keywords; k->name && into->count < json_object_size(json); k++) {
		argument = json_object_get(json, k->name);
		if (!argument)
			continue;
		struct aj_rule *rule = &into->rules[into->count++];
		*rule = (struct aj_rule){ .keyword = k, .json = argument };
		if (!k->parse(c, rule, aj_compile_pointer(c, at, k->name, 0), argument, json))
			return false;
		if (rule->types)
			into->types = rule->types;
	}
	return true;
}

static struct aj_schema *add_schema(struct aj_compiler *c)
{
	struct aj_schema *schema = aj_alloc(c->arena, sizeof *schema);
	schema->next = c->all;
	c->all = schema;
	return schema;
}

struct aj_schema *aj_compile(struct aj_compiler *c, const struct aj_pointer *at, const json_t *json)
{
	struct aj_schema *schema = add_schema(c);
	return aj_compile_into(c, schema, at, json) ? schema : NULL;
}

static bool count_chain(struct aj_compiler *c, struct aj_schema *s, int above)
{
	if (s->counting)
		return aj_malformed(c, s->place, "this schema refers to itself by $ref, for the same value");
	if (above + (s->chain ? s->chain : 1) > AJ_SCHEMA_MAX_CHAIN)
		return aj_malformed(c, s->place, "a chain of more than %d schemas for the same value", AJ_SCHEMA_MAX_CHAIN);
	if (s->chain)
		return true;
	int longest = 0;
	s->counting = true;
	for (size_t i = 0; i < s->count; i++)
		for (size_t j = 0; s->rules[i].keyword->in_place && j < s->rules[i].count; j++) {
			struct aj_schema *next = (struct aj_schema *)s->rules[i].schemas[j];
			if (!count_chain(c, next, above + 1))
				return false;
			longest = next->chain > longest ? next->chain : longest;
		}
	s->counting = false;
	s->chain = longest + 1;
	return true;
}

/* Check the caps on depth and values, before other code recurses into the document. */
static bool check_caps(struct aj_compiler *c, const json_t *json, const struct aj_pointer *at, int depth, size_t *values)
{
	const char *key;
	json_t *item;
	size_t i;
	if (depth > AJ_SCHEMA_MAX_DEPTH)
		return aj_malformed(c, NULL, "a schema is at most %d levels deep", AJ_SCHEMA_MAX_DEPTH);
	if (++*values > AJ_SCHEMA_MAX_VALUES)
		return aj_malformed(c, NULL, "a schema has at most %d values", AJ_SCHEMA_MAX_VALUES);
	if (json_is_object(json)) {
		json_object_foreach((json_t *)json, key, item) {
			struct aj_pointer here = { at, key, 0 };
			if (!check_caps(c, item, &here, depth + 1, values))
				return false;
		}
	} else if (json_is_array(json)) {
		json_array_foreach(json, i, item) {
			struct aj_pointer here = { at, NULL, i };
			if (!check_caps(c, item, &here, depth + 1, values))
				return false;
		}
	}
	return true;
}

/* Make an empty schema for each definition, before a $ref refers to it. */
static bool list_definitions(struct aj_compiler *c, const json_t *json)
{
	const char *key;
	json_t *value;
	json_object_foreach(json_object_get(json, "$defs"), key, value) {
		if (c->def_count == AJ_SCHEMA_MAX_DEFS)
			return aj_malformed(c, NULL, "a schema has at most %d definitions", AJ_SCHEMA_MAX_DEFS);
		c->defs[c->def_count++] = (struct aj_def){ key, add_schema(c) };
	}
	return true;
}

const struct aj_schema *aj_schema_compile(struct aj_arena *arena, const json_t *json, char *ret_why, size_t why_bytes)
{
	struct aj_compiler c = { .arena = arena, .why = ret_why, .why_bytes = why_bytes };
	size_t values = 0;
	if (!check_caps(&c, json, NULL, 1, &values))
		return NULL;
	if (json_dumpb(json, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) > AJ_SCHEMA_MAX_BYTES) {
		aj_malformed(&c, NULL, "a schema has at most %d bytes", AJ_SCHEMA_MAX_BYTES);
		return NULL;
	}
	struct aj_schema *root = list_definitions(&c, json) ? aj_compile(&c, NULL, json) : NULL;
	for (struct aj_schema *s = c.all; root && s; s = s->next)
		if (!count_chain(&c, s, 0))
			return NULL;
	return root;
}

const struct aj_schema *aj_schema_property(const struct aj_schema *schema, const char *key)
{
	for (size_t i = 0; i < schema->count; i++)
		for (size_t k = 0; strcmp(schema->rules[i].keyword->name, "properties") == 0 && k < schema->rules[i].count; k++)
			if (strcmp(schema->rules[i].keys[k], key) == 0)
				return schema->rules[i].schemas[k];
	return NULL;
}
