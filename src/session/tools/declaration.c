/* One declaration of a tool: a table of its keys, a check of each, and the signature that code inside will see.
 * It refuses a key that is unknown and a value that is wrong or beyond a cap, and says where it stands. */
#include "session/tools/declaration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/python_name.h"
#include "session/jsonschema/plain.h"
#include "session/jsonschema/pointer.h"

/* Names that the runner defines, as in guest/layer/runtime/tools.py: tests/layer/test_twins.py compares them. */
static const char *const ours[] = { "ToolError", "type", NULL };

static bool contains(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* NULL, or why the name is no identifier. */
static const char *bad_identifier(const char *name)
{
	size_t bytes = strlen(name);
	if (bytes == 0 || bytes > AJ_TOOL_NAME_BYTES)
		return "must have 1 to 64 characters";
	if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != bytes ||
	    (*name >= '0' && *name <= '9'))
		return "must be an ASCII identifier";
	return NULL;
}

static const char *bad_name(const char *name)
{
	const char *bad = bad_identifier(name);
	if (!bad && *name == '_')
		bad = "must not start with an underscore";
	if (!bad && aj_python_keyword(name))
		bad = "is a keyword of Python";
	return !bad && contains(ours, name) ? "is reserved for code in the jail" : bad;
}

/* A parameter `from` is called `from_` inside, so no other may have that name. */
static const char *bad_parameter(const json_t *properties, const char *name)
{
	const char *bad = bad_identifier(name);
	char inside[AJ_TOOL_NAME_BYTES + 2];
	if (bad)
		return bad;
	snprintf(inside, sizeof inside, "%s_", name);
	if (aj_python_keyword(name) && json_object_get(properties, inside))
		return "is a keyword, and the name that the jail would use instead, with an underscore, is taken";
	return strncmp(name, "__", 2) == 0 ? "must not start with two underscores" : NULL;
}

/* The only form of a whole number in a declaration: a JSON integer, not a real. */
static bool whole(const json_t *value, uint64_t most, uint64_t *ret)
{
	if (!json_is_integer(value) || json_integer_value(value) < 1 || (uint64_t)json_integer_value(value) > most)
		return false;
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

static const char *take_name(struct aj_tool *tool, json_t *value, char *why)
{
	(void)why;
	tool->name = json_string_value(value);
	return tool->name ? bad_name(tool->name) : "must be a string";
}

static const char *take_description(struct aj_tool *tool, json_t *value, char *why)
{
	(void)why;
	tool->description = json_string_value(value);
	if (!tool->description)
		return "must be a string";
	return json_string_length(value) > AJ_TOOL_DESCRIPTION_BYTES ? "has more than 8192 bytes" : NULL;
}

/* Check the function's signature, which the guest derives from the schema: names, required ones, and the defaults that it
 * sends. */
static const char *bad_signature(struct aj_tool *tool, char *why)
{
	const char *key, *bad;
	json_t *properties = json_object_get(tool->parameters, "properties");
	json_t *required = json_object_get(tool->parameters, "required");
	json_t *property, *name;
	size_t i;
	if (json_object_size(properties) > AJ_TOOL_PARAMETERS)
		return "has more than 100 properties";
	json_object_foreach(properties, key, property) {
		struct aj_pointer list = { NULL, "properties", 0 }, place = { &list, key, 0 };
		json_t *fallback = json_object_get(property, "default");
		char reason[AJ_SCHEMA_WHY_BYTES];
		if ((bad = bad_parameter(properties, key))) {
			aj_pointer_format(why, AJ_SCHEMA_WHY_BYTES, &place, "the name %s", bad);
			return why;
		}
		json_t *plain = fallback ? aj_plain(fallback, &bad) : NULL;
		bool fits = !fallback || (plain && aj_schema_check(aj_schema_property(tool->parameters_schema, key), plain,
		                                                   reason, sizeof reason));
		json_decref(plain);
		if (!fits) {
			aj_pointer_format(why, AJ_SCHEMA_WHY_BYTES, &place, "the default does not fit: %s", bad ? bad : reason);
			return why;
		}
	}
	json_array_foreach(required, i, name) {
		struct aj_pointer list = { NULL, "required", 0 }, place = { &list, NULL, i };
		if (!json_object_get(properties, json_string_value(name))) {
			aj_pointer_format(why, AJ_SCHEMA_WHY_BYTES, &place, "`properties` has no such name");
			return why;
		}
	}
	return NULL;
}

static const char *take_parameters(struct aj_tool *tool, json_t *value, char *why)
{
	const char *type = json_string_value(json_object_get(value, "type"));
	tool->parameters = value;
	tool->parameters_schema = aj_schema_compile(&tool->arena, value, why, AJ_SCHEMA_WHY_BYTES);
	if (!tool->parameters_schema)
		return why;
	if (!type || strcmp(type, "object") != 0)
		return "must be a schema of \"type\": \"object\", since arguments have names";
	return bad_signature(tool, why);
}

static const char *take_returns(struct aj_tool *tool, json_t *value, char *why)
{
	if (!json_is_object(value))
		return "must be a schema that is an object";
	tool->returns = value;
	tool->returns_schema = aj_schema_compile(&tool->arena, value, why, AJ_SCHEMA_WHY_BYTES);
	return tool->returns_schema ? NULL : why;
}

static const char *take_async(struct aj_tool *tool, json_t *value, char *why)
{
	(void)why;
	tool->async = json_is_true(value);
	return json_is_boolean(value) ? NULL : "must be true or false";
}

static const char *take_reserved(struct aj_tool *tool, json_t *value, char *why)
{
	(void)why;
	tool->reserved = json_is_true(value);
	return json_is_boolean(value) ? NULL : "must be true or false";
}

static const char *take_variadic(struct aj_tool *tool, json_t *value, char *why)
{
	const json_t *property = json_object_get(json_object_get(tool->parameters, "properties"), json_string_value(value));
	const char *type = json_string_value(json_object_get(property, "type"));
	(void)why;
	tool->variadic = json_string_value(value);
	if (!property)
		return "must be the name of a property in `parameters`";
	if (!type || strcmp(type, "array") != 0)
		return "must name a property of \"type\": \"array\"";
	return json_object_get(property, "default") ? "must name a property without a default" : NULL;
}

static const char *take_timeout(struct aj_tool *tool, json_t *value, char *why)
{
	(void)why;
	return whole(value, AJ_TOOL_MAX_TIMEOUT_MS, &tool->timeout_ms) ? NULL : "must be an integer from 1 to 3600000";
}

static const char *take_result_bytes(struct aj_tool *tool, json_t *value, char *why)
{
	uint64_t bytes = 0;
	(void)why;
	bool good = whole(value, AJ_TOOL_MAX_RESULT_BYTES, &bytes);
	tool->result_bytes = bytes;
	return good ? NULL : "must be an integer from 1 to 16777216";
}

/* Setters return NULL, or why the value is wrong; they may format that into `why`. */
static const struct {
	const char *key;
	bool needed;
	const char *(*take)(struct aj_tool *tool, json_t *value, char why[AJ_SCHEMA_WHY_BYTES]);
} keys[] = {
	{ "name", true, take_name },
	{ "description", false, take_description },
	{ "parameters", true, take_parameters },
	{ "returns", false, take_returns },
	{ "async", false, take_async },
	{ "reserved", false, take_reserved },
	{ "variadic", false, take_variadic }, /* reads `parameters` */
	{ "timeout_ms", false, take_timeout },
	{ "result_bytes", false, take_result_bytes },
};
enum { KEYS = sizeof keys / sizeof *keys };

static int refuse(struct aj_error *err, const struct aj_pointer *place, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int refuse(struct aj_error *err, const struct aj_pointer *place, const char *fmt, ...)
{
	char text[sizeof err->cause];
	va_list ap;
	va_start(ap, fmt);
	aj_pointer_vformat(text, sizeof text, place, fmt, ap);
	va_end(ap);
	return aj_fail(err, AJ_EXIT_USAGE, AJ_TOOLS_STEP, 0, "%s", text);
}

static int read_declaration(struct aj_tool *tool, json_t *declaration, size_t index, struct aj_error *err)
{
	char why[AJ_SCHEMA_WHY_BYTES];
	const char *key, *bad;
	json_t *value;
	struct aj_pointer tool_place = { NULL, NULL, index };
	if (!json_is_object(declaration))
		return refuse(err, &tool_place, "a tool must be an object");
	json_object_foreach(declaration, key, value) {
		struct aj_pointer place = { &tool_place, key, 0 };
		size_t i = 0;
		while (i < KEYS && strcmp(keys[i].key, key) != 0)
			i++;
		if (i == KEYS)
			return refuse(err, &place, "unknown key");
	}
	for (size_t i = 0; i < KEYS; i++) {
		value = json_object_get(declaration, keys[i].key);
		if (!value && keys[i].needed)
			return refuse(err, &tool_place, "`%s` is missing", keys[i].key);
		bad = value ? keys[i].take(tool, value, why) : NULL;
		if (bad) /* may begin with a pointer that continues this one */
			return aj_fail(err, AJ_EXIT_USAGE, AJ_TOOLS_STEP, 0, "/%zu/%s%s%s", index, keys[i].key,
			               *bad == '/' ? "" : ": ", bad);
	}
	return 0;
}

struct aj_tool *aj_tool_declare(json_t *declaration, size_t index, struct aj_error *err)
{
	struct aj_tool *tool = calloc(1, sizeof *tool);
	if (!tool) {
		aj_fail(err, AJ_EXIT_SETUP, AJ_TOOLS_STEP, 0, "out of memory for a tool");
		return NULL;
	}
	tool->references = 1;
	tool->description = "";
	tool->timeout_ms = AJ_TOOL_TIMEOUT_MS;
	tool->result_bytes = AJ_TOOL_RESULT_BYTES;
	tool->declaration = json_incref(declaration);
	if (read_declaration(tool, declaration, index, err) == 0)
		return tool;
	aj_tool_release(tool);
	return NULL;
}

void aj_tool_release(struct aj_tool *tool)
{
	if (!tool || --tool->references)
		return;
	json_decref(tool->declaration);
	aj_arena_free(&tool->arena);
	free(tool);
}
