/* Prints dictionaries for fuzzers: every name in the tables that a target parses, and what its grammar has besides.
 * It prints one word a line and no comment; libFuzzer itself refuses a line that is no word. */
#include <stdio.h>
#include <string.h>

#include "base/toml/source.h"
#include "gen/gen.h"
#include "policy/load/site.h"
#include "service/protocol/query.h"
#include "session/jsonschema/keyword.h"

/* A word: quotes and backslashes escaped. */
static void put_word(const char *before, const char *text, const char *after)
{
	const char *parts[] = { before, text, after };
	putchar('"');
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		for (const char *c = parts[i]; *c; c++)
			printf(*c == '"' || *c == '\\' ? "\\%c" : *c == '\n' ? "\\x0a" : "%c", *c);
	printf("\"\n");
}

void aj_dictionary_policies(void)
{
	static const char *const words[] = {
		"extends = ", "lock = [\"*\"]",
		"extend_",    "[ceilings.",
		"\"none\"",   "\"wall\"",
		"true",       "false",
		"\n",         "[[",
		"]]",         "\"\"\"",
		"'''",        "{ ",
		" }",         "#",
		"inf",        "nan",
		"0x",         "0o",
		"0b",         "\"30s\"",
		"\"512M\"",   "1979-05-27T07:32:00Z",
		"\\u0000",    "\"*\"",
		"\"./",       "\"/",
	};
	const struct aj_key *const tables[] = { aj_policy_keys, aj_site_keys };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		put_word("", words[i], "");
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (const struct aj_key *key = tables[t]; key->name; key++) {
			const char *dot = strchr(key->name, '.');
			char section[64] = "";
			if (dot)
				snprintf(section, sizeof section, "[%.*s]\n", (int)(dot - key->name), key->name);
			put_word("", key->name, " = ");
			if (dot)
				put_word(section, dot + 1, " = ");
			for (size_t i = 0; key->names && key->names[i]; i++)
				put_word("\"", key->names[i], "\"");
		}
	for (const struct aj_builtin *b = aj_builtins; b->name; b++)
		put_word("\"", b->name, "\"");
}

void aj_dictionary_requests(void)
{
	for (int op = 0; op < AJ_OPS; op++)
		put_word("\"", aj_op_name((enum aj_op)op), "\"");
	for (int m = 0; m < AJ_MEMBERS; m++)
		put_word("\"", aj_member_name((enum aj_member)m), "\":");
	printf("\"\\\\u0000\"\n\"{}\"\n\"[]\"\n\"null\"\n\"\\xff\"\n\"\\x00\\x00\\x00\"\n");
}

void aj_dictionary_schemas(void)
{
	static const char *const words[] = { "null",   "boolean",  "integer",  "number", "string", "array",
		                             "object", "#/$defs/", "__type__", "data",   "tuple",  "int" };
	for (const struct aj_keyword *k = aj_keywords; k->name; k++)
		put_word("\"", k->name, "\":");
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		put_word("\"", words[i], "\"");
	printf("\"\\x00\"\n");
}
