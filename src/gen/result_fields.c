/* Prints the table of jail/result/fields.c, the fields of a result: as Markdown, as JSON Schema, and as rows of agentjail(1).
 */
#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "gen/gen.h"
#include "jail/result/fields.h"

static const char *const type_names[] = { "string", "integer", "boolean", "object", "array", "null" };
enum { TYPES = sizeof type_names / sizeof *type_names };

static json_t *field_schema(const struct aj_field *field);

static const struct aj_field *row_of_path(const char *path)
{
	for (const struct aj_field *f = aj_fields; f->path; f++)
		if (strcmp(f->path, path) == 0)
			return f;
	return NULL;
}

/* Of the object at `path`; "": of the result. */
static void add_members(json_t *schema, const char *path)
{
	size_t bytes = strlen(path);
	json_t *properties = json_object(), *required = json_array(), *others = json_false();
	for (const struct aj_field *f = aj_fields; f->path; f++) {
		const char *name = f->path + bytes + (bytes > 0);
		if (strncmp(f->path, path, bytes) != 0 || (bytes && f->path[bytes] != '.') || name[strcspn(name, ".[")])
			continue;
		if (strcmp(name, "*") == 0) {
			others = field_schema(f);
			continue;
		}
		json_object_set_new(properties, name, field_schema(f));
		if (!f->when)
			json_array_append_new(required, json_string(name));
	}
	json_object_set_new(schema, "properties", properties);
	json_object_set_new(schema, "required", required);
	json_object_set_new(schema, "additionalProperties", others);
}

static json_t *type_schema(unsigned types)
{
	json_t *all = json_array();
	for (unsigned i = 0; i < TYPES; i++)
		if (types & 1U << i)
			json_array_append_new(all, json_string(type_names[i]));
	if (json_array_size(all) != 1)
		return all;
	json_t *one = json_incref(json_array_get(all, 0));
	json_decref(all);
	return one;
}

static void add_words(json_t *schema, const char *words)
{
	json_t *all = json_array();
	for (size_t n; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		json_array_append_new(all, json_stringn(words, n));
	}
	json_object_set_new(schema, "enum", all);
}

static json_t *field_schema(const struct aj_field *f)
{
	char path[200], text[600];
	json_t *schema = json_object();
	snprintf(text, sizeof text, "%s. %s%s%s.", f->help, f->claimed ? "Claimed" : "Attested", f->when ? "; there where: " : "",
	         f->when ? f->when : "");
	json_object_set_new(schema, "description", json_string(text));
	if (f->types != AJ_FIELD_ANY)
		json_object_set_new(schema, "type", type_schema(f->types));
	if (f->words)
		add_words(schema, f->words);
	if (f->most) /* of a string bytes are counted, of which no character has fewer than one */
		json_object_set_new(schema, f->types & AJ_FIELD_ARRAY ? "maxItems" : "maxLength", json_integer(f->most));
	snprintf(path, sizeof path, "%s[]", f->path);
	const struct aj_field *item = row_of_path(path);
	if (item)
		json_object_set_new(schema, "items", field_schema(item));
	if (f->types & AJ_FIELD_OBJECT)
		add_members(schema, f->like ? f->like : f->path);
	return schema;
}

void aj_result_schema(void)
{
	json_t *schema = json_pack("{s:s, s:s, s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
	                           "Result of agentjail", "description",
	                           "Generated from src/jail/result/fields.c by `make docs`.", "type", "object");
	add_members(schema, "");
	json_dumpf(schema, stdout, JSON_INDENT(1));
	printf("\n");
	json_decref(schema);
}

static void print_type(const struct aj_field *f)
{
	const char *before = "";
	if (f->types == AJ_FIELD_ANY)
		printf("any");
	for (unsigned i = 0; i < TYPES; i++)
		if (f->types & 1U << i) {
			printf("%s%s", before, type_names[i]);
			before = " or ";
		}
}

void aj_result_table(void)
{
	printf("| field | type | by | there where | what it says |\n|---|---|---|---|---|\n");
	for (const struct aj_field *f = aj_fields; f->path; f++) {
		printf("| `%s` | ", f->path);
		print_type(f);
		printf(" | %s | %s | %s", f->claimed ? "jail" : "supervisor", f->when ? f->when : "always", f->help);
		for (const char *word = f->words; word && *word;
		     word += word[strcspn(word, " ")] == ' ' ? strcspn(word, " ") + 1 : strlen(word))
			printf("%s`%.*s`", word == f->words ? ": " : ", ", (int)strcspn(word, " "), word);
		if (f->unbrief)
			printf("; a brief result lacks it");
		if (f->most)
			printf("; at most %u %s", f->most, f->types & AJ_FIELD_ARRAY ? "items" : "bytes");
		printf(" |\n");
	}
}
