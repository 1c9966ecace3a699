/* Fuzzes schemas and values: bytes are a schema, a NUL and a value, each as JSON; the schema is also declared as a tool's.
 * It runs no tool. Beyond not crashing, a refusal has a reason that can be printed, and an answer obeys the rules of the subset. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "must.h"
#include "session/jsonschema/plain.h"
#include "session/tools/tools.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);

static void printable(const char *why)
{
	must_of(*why, "a refusal has a reason", "");
	must_of(aj_utf8_valid_prefix(why, strlen(why)) == strlen(why), "a reason is UTF-8", why);
	for (const char *c = why; *c; c++)
		must_of((unsigned char)*c >= 0x20 && *c != 0x7f, "a reason holds no control character", why);
}

enum answer { UNFIT, FITS, UNKNOWN };

static enum answer ask(const struct aj_schema *schema, const json_t *value)
{
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	bool fits = aj_schema_check(schema, value, why, sizeof why);
	must_of(!fits || !*why, "what fits gives no reason", why);
	if (!fits)
		printable(why);
	return fits ? FITS : strstr(why, "too large or nested too deep") ? UNKNOWN : UNFIT;
}

/* The value against {KEYWORD: SCHEMA, or a list of it, twice}, as long as that is a schema. */
static enum answer wrapped(struct aj_arena *arena, json_t *schema, int times, const char *keyword, const json_t *value)
{
	char why[AJ_SCHEMA_WHY_BYTES];
	json_t *outer = json_pack(times == 2 ? "{s:[OO]}" : times ? "{s:[O]}" : "{s:O}", keyword, schema, schema);
	const struct aj_schema *compiled = aj_schema_compile(arena, outer, why, sizeof why);
	enum answer answer = compiled ? ask(compiled, value) : UNKNOWN;
	json_decref(outer);
	return answer;
}

static void rules(struct aj_arena *arena, json_t *schema, json_t *value, enum answer answer)
{
	static const struct {
		const char *keyword;
		int times;
		enum answer unfit, fits;
	} same[] = { { "allOf", 1, UNFIT, FITS }, { "allOf", 2, UNFIT, FITS }, { "anyOf", 1, UNFIT, FITS },
		     { "anyOf", 2, UNFIT, FITS }, { "oneOf", 1, UNFIT, FITS }, { "oneOf", 2, UNFIT, UNFIT },
		     { "not", 0, FITS, UNFIT } };
	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		enum answer other = wrapped(arena, schema, same[i].times, same[i].keyword, value);
		must_of(other == UNKNOWN || answer == UNKNOWN || other == (answer == FITS ? same[i].fits : same[i].unfit),
		        "a schema in another means the same", same[i].keyword);
	}
	enum answer constant = wrapped(arena, value, 0, "const", value);
	must_of(constant != UNFIT, "a value equals itself", "const");
	json_t *twice = json_pack("[OO]", value, value), *unique = json_pack("{s:b}", "uniqueItems", 1);
	char why[AJ_SCHEMA_WHY_BYTES];
	must_of(ask(aj_schema_compile(arena, unique, why, sizeof why), twice) != FITS, "a value is not unique beside itself", "");
	json_decref(twice);
	json_decref(unique);
}

static void as_tool(json_t *schema, json_t *value)
{
	struct aj_tools tools = { 0 };
	struct aj_error err = { 0 };
	struct aj_tool_call call;
	const char *type, *why_not;
	char why[AJ_TOOL_WHY_BYTES] = "";
	json_t *list = json_pack("[{s:s, s:O, s:O, s:i}]", "name", "t", "parameters", schema, "returns", schema, "result_bytes", 100);
	if (aj_tools_declare(&tools, list, &err) < 0) {
		printable(err.cause);
		must_of(tools.count == 0, "a refused list leaves nothing", "");
	} else {
		json_t *doc = json_pack("{s:i, s:s, s:O}", "call", 1, "tool", "t", "args", value);
		char *sent = json_dumps(doc, JSON_COMPACT);
		struct aj_scan scan = { .max_values = SIZE_MAX };
		aj_scan_feed(&scan, sent, strlen(sent));
		enum aj_call r = aj_tools_check_call(&tools, sent, &scan, &call, &type, why, sizeof why);
		if (r == AJ_CALL_OK)
			r = aj_tool_check_args(&call, sent, &scan, &type, why, sizeof why);
		json_t *plain = aj_plain(value, &why_not);
		must_of(r != AJ_CALL_OK || (plain && json_equal(plain, call.args)), "what is handed on is the plain value", "");
		must_of(r != AJ_CALL_OK || ask(call.tool->parameters_schema, call.args) == FITS, "what is handed on fits", "");
		must_of((r == AJ_CALL_MISSHAPEN) == !json_is_object(value), "arguments are an object", why);
		if (r != AJ_CALL_OK)
			printable(why);
		aj_tool_call_free(&call);
		json_decref(plain);
		json_decref(doc);
		free(sent);
		if (!aj_tool_check_result(tools.items[0], value, why, sizeof why))
			printable(why);
	}
	aj_tools_free(&tools);
	json_decref(list);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	const char *text = (const char *)data, *cut = memchr(text, '\0', bytes);
	size_t first = cut ? (size_t)(cut - text) : bytes;
	struct aj_arena arena = { 0 };
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	json_t *error = aj_tools_error_json("E", text, bytes);
	must_of(error && json_string_length(json_object_get(error, "message")) <= AJ_TOOL_ERROR_BYTES, "any bytes make an error", "");
	json_decref(error);
	json_t *schema = json_loadb(text, first, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	json_t *value = cut ? json_loadb(cut + 1, bytes - first - 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!value)
		value = json_null();
	if (schema) {
		const struct aj_schema *compiled = aj_schema_compile(&arena, schema, why, sizeof why);
		if (compiled)
			rules(&arena, schema, value, ask(compiled, value));
		else
			printable(why);
		as_tool(schema, value);
	}
	json_decref(schema);
	json_decref(value);
	aj_arena_free(&arena);
	return 0;
}
