/* `agentjail policy schema`: prints the tables of keys as JSON Schema.
 * It has no knowledge of single keys: every property comes from the key's row. */
#include <stdio.h>
#include <string.h>

#include "cli/policy/policycmd.h"
#include "policy/load/site.h"

#define BYTES_PATTERN "^[0-9]+([KMG](iB)?)?$"
#define TIME_PATTERN "^[0-9]+(ms|s|m|h)$"

static json_t *text_schema(const char *pattern)
{
	return json_pack("{s:s, s:s}", "type", "string", "pattern", pattern);
}

static json_t *names_schema(const struct aj_key *key)
{
	json_t *all = json_array();
	for (size_t i = 0; key->names[i]; i++)
		json_array_append_new(all, json_string(key->names[i]));
	if (!key->was_boolean)
		return json_pack("{s:s, s:o}", "type", "string", "enum", all);
	json_array_append_new(all, json_true());
	json_array_append_new(all, json_false());
	return json_pack("{s:[s, s], s:o}", "type", "string", "boolean", "enum", all);
}

static json_t *quantity_schema(const struct aj_key *key)
{
	json_t *any = json_array();
	if (key->type == AJ_KEY_DURATION)
		json_array_append_new(any, text_schema(TIME_PATTERN));
	else if (key->type == AJ_KEY_BYTES)
		json_array_append_new(any, text_schema(BYTES_PATTERN));
	if (key->type != AJ_KEY_DURATION)
		json_array_append_new(any, json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)key->min,
		                                     "maximum", (json_int_t)key->max));
	if (key->none)
		json_array_append_new(any, json_pack("{s:s}", "const", "none"));
	if (key->as_wall)
		json_array_append_new(any, json_pack("{s:s}", "const", "wall"));
	return json_pack("{s:o}", "anyOf", any);
}

static json_t *value_schema(const struct aj_key *key)
{
	switch (key->type) {
	case AJ_KEY_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case AJ_KEY_ENUM:
		return names_schema(key);
	case AJ_KEY_FLAGS:
		return json_pack("{s:s, s:o}", "type", "array", "items", names_schema(key));
	case AJ_KEY_LIST:
		return json_pack("{s:s, s:o, s:I}", "type", "array", "items", text_schema(key->items->pattern), "maxItems",
		                 (json_int_t)key->max);
	case AJ_KEY_TEXT:
		return text_schema(key->items->pattern);
	default:
		return quantity_schema(key);
	}
}

/* `defaults`: a policy or a site with the defaults; NULL where absent means something else, which `before` says. */
static json_t *key_schema(const struct aj_key *key, const void *defaults, const char *before, struct aj_arena *arena)
{
	json_t *schema = value_schema(key);
	const char *range = key->type >= AJ_KEY_BYTES && key->type <= AJ_KEY_COUNT
	                      ? aj_printf(arena, " (%s)", aj_key_range(key, arena))
	                      : "";
	json_object_set_new(schema, "description",
	                    json_string(aj_printf(arena, "%s%s%s. Enforced by %s.", before, key->help, range,
	                                          aj_enforcer_name(key->by))));
	if (defaults)
		json_object_set_new(schema, "default", aj_key_json(key, defaults, arena));
	return schema;
}

static json_t *section_of(json_t *properties, const char *section)
{
	if (!json_object_get(properties, section))
		json_object_set_new(properties, section,
		                    json_pack("{s:s, s:b, s:{}}", "type", "object", "additionalProperties", 0, "properties"));
	return json_object_get(properties, section);
}

static void add_key(json_t *properties, const struct aj_key *key, bool extend, const void *defaults, const char *before,
                    struct aj_arena *arena)
{
	const char *dot = strchr(key->name, '.'), *name = dot ? dot + 1 : key->name;
	json_t *section = dot ? section_of(properties, aj_strndup(arena, key->name, (size_t)(dot - key->name))) : NULL;
	json_t *into = section ? json_object_get(section, "properties") : properties;
	json_object_set_new(into, name, key_schema(key, defaults, before, arena));
	if (!extend || !aj_key_is_list(key))
		return;
	const char *longer = aj_printf(arena, "extend_%s", name);
	json_object_set_new(into, longer, key_schema(key, NULL, "In addition to what the extended policy has: ", arena));
	if (!json_object_get(section, "allOf"))
		json_object_set_new(section, "allOf", json_array());
	json_array_append_new(json_object_get(section, "allOf"), json_pack("{s:{s:[s, s]}}", "not", "required", name, longer));
}

static json_t *make_document(const char *title, json_t *properties)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:o}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title", title,
	                 "type", "object", "additionalProperties", 0, "properties", properties);
}

static json_t *policy_schema(struct aj_arena *arena)
{
	json_t *properties = json_object();
	struct aj_policy defaults;
	aj_keys_default(aj_policy_keys, &defaults, arena);
	json_object_set_new(properties, "extends",
	                    json_pack("{s:s, s:s, s:s}", "type", "string", "pattern",
	                              "^([A-Za-z0-9][A-Za-z0-9_-]{0,63}|\\./.+|/.+)$", "description",
	                              "The policy that this one changes: a name, or a file that starts with ./ (beside this one) or /."));
	json_object_set_new(properties, "lock",
	                    json_pack("{s:s, s:o, s:s}", "type", "array", "items", text_schema(aj_item_key.pattern),
	                              "description",
	                              "Keys, sections or \"*\": what no policy that extends this one and no option may loosen."));
	for (const struct aj_key *key = aj_policy_keys; key->name; key++)
		add_key(properties, key, true, &defaults, "", arena);
	return make_document("A policy of agentjail", properties);
}

static json_t *site_schema(struct aj_arena *arena)
{
	json_t *properties = json_object(), *ceilings = json_object();
	struct aj_site defaults;
	aj_keys_default(aj_site_keys, &defaults, arena);
	for (const struct aj_key *key = aj_site_keys; key->name; key++)
		add_key(properties, key, false, &defaults, "", arena);
	for (const struct aj_key *key = aj_policy_keys; key->name; key++)
		if (key->looser == AJ_LOOSER_MORE || key->looser == AJ_LOOSER_LESS)
			add_key(ceilings, key, false, NULL, "No policy may exceed this: ", arena);
	json_object_set_new(properties, "ceilings",
	                    json_pack("{s:s, s:b, s:o, s:s}", "type", "object", "additionalProperties", 0, "properties", ceilings,
	                              "description",
	                              "What no policy may exceed: built-in policies are lowered to it, files and options that ask for more are refused."));
	return make_document("The configuration of an agentjail site (agentjail.toml)", properties);
}

void aj_schema_print(bool site, FILE *out)
{
	struct aj_arena arena = { 0 };
	json_t *doc = site ? site_schema(&arena) : policy_schema(&arena);
	json_dumpf(doc, out, JSON_INDENT(2));
	fputc('\n', out);
	json_decref(doc);
	aj_arena_free(&arena);
}

int aj_policy_schema(struct aj_policy_args *args, struct aj_error *err)
{
	(void)err;
	if (args->text)
		aj_schema_text(args->site_schema, stdout);
	else
		aj_schema_print(args->site_schema, stdout);
	return 0;
}
