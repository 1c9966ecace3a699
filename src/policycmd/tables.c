/* Prints the tables of keys and of finding codes as text, as man(7) macros, and as a fuzzer's dictionary.
 * It adds nothing to a row and leaves nothing out of it. */
#include <stdio.h>
#include <string.h>

#include "policy/site.h"
#include "policycmd/policy.h"

static const char *type_text(const struct aj_key *key, struct aj_arena *arena)
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

static const char *default_text(const struct aj_key *key)
{
	return !key->fallback || !*key->fallback ? "empty" : key->fallback;
}

void aj_schema_text(bool site, FILE *out)
{
	struct aj_arena arena = { 0 };
	for (const struct aj_key *key = site ? aj_site_keys : aj_policy_keys; key->name; key++) {
		fprintf(out, "%s\n    %s\n    %s; default %s\n    %s: %s\n", key->name, key->help, type_text(key, &arena),
		        default_text(key), aj_enforcer_kind(key->by), aj_enforcer_name(key->by));
		if (key->unbuilt)
			fprintf(out, "    not built yet: %s\n", key->unbuilt);
	}
	aj_arena_free(&arena);
}

void aj_codes_text(FILE *out)
{
	for (int i = 0; i < AJ_CODE_COUNT; i++)
		fprintf(out, "%s  %-7s  %s\n", aj_codes[i].code, strcmp(aj_codes[i].code, "AJ100") < 0 ? "error" : "warning",
		        aj_codes[i].meaning);
}

/* --- for the manual --- */

static void man_text(const char *text, FILE *out)
{
	for (; *text; text++)
		fprintf(out, *text == '-' ? "\\-" : *text == '\\' ? "\\e" : "%c", *text);
}

void aj_schema_man(bool site, FILE *out)
{
	struct aj_arena arena = { 0 };
	for (const struct aj_key *key = site ? aj_site_keys : aj_policy_keys; key->name; key++) {
		fprintf(out, ".TP\n.B ");
		man_text(key->name, out);
		fprintf(out, "\n");
		man_text(key->help, out);
		fprintf(out, ".\n.br\n");
		man_text(aj_printf(&arena, "%s; default %s.", type_text(key, &arena), default_text(key)), out);
		if (!site)
			man_text(aj_printf(&arena, " Enforced by %s.", aj_enforcer_name(key->by)), out);
		if (key->unbuilt)
			man_text(aj_printf(&arena, " The wall of \"%s\" is not built yet.", key->unbuilt), out);
		fprintf(out, "\n");
	}
	aj_arena_free(&arena);
}

void aj_codes_man(FILE *out)
{
	for (int i = 0; i < AJ_CODE_COUNT; i++) {
		fprintf(out, ".TP\n.B %s\n", aj_codes[i].code);
		man_text(aj_codes[i].meaning, out);
		fprintf(out, ".\n");
	}
}

/* --- for a fuzzer --- */

/* A word of a libFuzzer dictionary: quotes and backslashes escaped. */
static void dictionary_word(const char *before, const char *text, size_t bytes, const char *after, FILE *out)
{
	fprintf(out, "\"%s", before);
	for (size_t i = 0; i < bytes; i++)
		fprintf(out, text[i] == '"' || text[i] == '\\' ? "\\%c" : "%c", text[i]);
	fprintf(out, "%s\"\n", after);
}

static void dictionary_keys(const struct aj_key *keys, FILE *out)
{
	const char *last = "";
	for (const struct aj_key *key = keys; key->name; key++) {
		const char *dot = strchr(key->name, '.'), *name = dot ? dot + 1 : key->name;
		size_t bytes = dot ? (size_t)(dot - key->name) + 1 : 0;
		if (bytes && strncmp(last, key->name, bytes) != 0)
			dictionary_word("[", key->name, bytes - 1, "]", out);
		last = key->name;
		dictionary_word("", name, strlen(name), "", out);
		if (keys == aj_policy_keys && aj_key_is_list(key))
			dictionary_word("extend_", name, strlen(name), "", out);
		for (size_t i = 0; key->names && key->names[i]; i++)
			dictionary_word("\\\"", key->names[i], strlen(key->names[i]), "\\\"", out);
	}
}

void aj_schema_dictionary(FILE *out)
{
	static const char *const words[] = {
		"extends = ", "lock = ",  "[[",       "]]",      "[ceilings.",
		"\"\"\"",     "'''",      " = ",      "{ ",      " }",
		", ",         "#",        "true",     "false",   "inf",
		"nan",        "0x",       "0o",       "0b",      "1979-05-27T07:32:00Z",
		"\\u0000",    "\"none\"", "\"wall\"", "\"30s\"", "\"512M\"",
		"\"*\"",      "\"./",     "\"/",      "_",
	};
	fprintf(out, "# libFuzzer dictionary of policies and of a site's configuration, from the tables of keys\n");
	dictionary_keys(aj_policy_keys, out);
	dictionary_keys(aj_site_keys, out);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		dictionary_word("", words[i], strlen(words[i]), "", out);
}
