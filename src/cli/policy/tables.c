/* Prints the tables of keys and of finding codes as text.
 * It adds nothing to a row and leaves nothing out of it. */
#include <stdio.h>
#include <string.h>

#include "cli/policy/policycmd.h"
#include "policy/load/site.h"

const char *aj_key_type_text(const struct aj_key *key, struct aj_arena *arena)
{
	static const char *const types[] = {
		[AJ_KEY_BOOL] = "true or false", [AJ_KEY_FLAGS] = "list of", [AJ_KEY_BYTES] = "size",
		[AJ_KEY_DURATION] = "duration",  [AJ_KEY_COUNT] = "integer", [AJ_KEY_TEXT] = "string",
		[AJ_KEY_LIST] = "list",          [AJ_KEY_ENUM] = "one of",
	};
	const char *text = types[key->type];
	if (key->type == AJ_KEY_BYTES || key->type == AJ_KEY_DURATION || key->type == AJ_KEY_COUNT)
		return aj_printf(arena, "%s %s", text, aj_key_range(key, arena));
	if (key->type == AJ_KEY_LIST)
		return aj_printf(arena, "list of at most %lu, each %s", key->max, key->items->name);
	if (key->type == AJ_KEY_TEXT)
		return aj_printf(arena, "string: %s", key->items->name);
	for (size_t i = 0; key->names && key->names[i]; i++)
		text = aj_printf(arena, "%s%s %s", text, i ? "," : "", key->names[i]);
	return text;
}

const char *aj_key_default_text(const struct aj_key *key)
{
	return !key->fallback || !*key->fallback ? "empty" : key->fallback;
}

void aj_schema_text(bool site, FILE *out)
{
	struct aj_arena arena = { 0 };
	for (const struct aj_key *key = site ? aj_site_keys : aj_policy_keys; key->name; key++) {
		fprintf(out, "%s\n    %s\n    %s; default %s\n    %s: %s\n", key->name, key->help, aj_key_type_text(key, &arena),
		        aj_key_default_text(key), aj_enforcer_kind(key->by), aj_enforcer_name(key->by));
	}
	aj_arena_free(&arena);
}

void aj_codes_text(FILE *out)
{
	for (int i = 0; i < AJ_FINDING_COUNT; i++)
		fprintf(out, "%s  %-7s  %s\n", aj_codes[i].code, strcmp(aj_codes[i].code, "AJ100") < 0 ? "error" : "warning",
		        aj_codes[i].meaning);
}
