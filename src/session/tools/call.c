/* Checks the messages between a jail and a tool: calls from inside, results and errors from outside.
 * It refuses every call that has not exactly the declared shape, and passes on only values that it has checked. */
#include <stdio.h>
#include <string.h>

#include "base/json/tree.h"
#include "base/text.h"
#include "session/jsonschema/plain.h"
#include "session/tools/tools.h"

enum { CALL_KEYS = 3 };
static const uint64_t LARGEST_NUMBER = (UINT64_C(1) << 53) - 1;

static enum aj_call refuse(const char **ret_type, const char *type, char *ret_why, size_t why_bytes, const char *why)
{
	*ret_type = type;
	snprintf(ret_why, why_bytes, "%s", why);
	return AJ_CALL_REFUSED;
}

static enum aj_call misshapen(char *ret_why, size_t why_bytes)
{
	snprintf(ret_why, why_bytes, "not a call of the form {\"call\": NUMBER, \"tool\": NAME, \"args\": {...}}");
	return AJ_CALL_MISSHAPEN;
}

/* Parse digits only, without sign, fraction or exponent; the span is a valid JSON value. */
static bool whole_number(const char *text, const struct aj_span *span, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < span->bytes; i++) {
		char c = text[span->at + i];
		if (c < '0' || c > '9' || *ret > LARGEST_NUMBER / 10)
			return false;
		*ret = *ret * 10 + (uint64_t)(c - '0');
	}
	return *ret <= LARGEST_NUMBER;
}

/* Declared names are plain ASCII, so a name written with escapes matches none. */
const struct aj_tool *aj_tools_called(const struct aj_tools *tools, const char *text, const struct aj_scan *scan)
{
	const struct aj_span *span = aj_scan_member(scan, text, "tool");
	char name[AJ_TOOL_NAME_BYTES + 1];
	size_t bytes = span->bytes - 2;
	if (bytes > AJ_TOOL_NAME_BYTES)
		return NULL;
	memcpy(name, text + span->at + 1, bytes);
	name[bytes] = '\0';
	return aj_tools_find(tools, name);
}

enum aj_call aj_tools_check_call(const struct aj_tools *tools, const char *text, struct aj_scan *scan, struct aj_tool_call *ret,
                                 const char **ret_type, char *ret_why, size_t why_bytes)
{
	*ret = (struct aj_tool_call){ 0 };
	*ret_type = NULL;
	bool many = aj_scan_too_many(scan);
	if ((!many && aj_scan_end(scan)) || scan->members_count != CALL_KEYS)
		return misshapen(ret_why, why_bytes);
	const struct aj_span *number = aj_scan_member(scan, text, "call"), *name = aj_scan_member(scan, text, "tool"),
			     *args = aj_scan_member(scan, text, "args");
	if (!number || !name || !args || !whole_number(text, number, &ret->number))
		return misshapen(ret_why, why_bytes);
	if (text[name->at] != '"' || text[args->at] != '{')
		return misshapen(ret_why, why_bytes);
	struct aj_tool *tool = (struct aj_tool *)aj_tools_called(tools, text, scan);
	if (!tool)
		return refuse(ret_type, AJ_TOOL_UNKNOWN, ret_why, why_bytes, "no tool has this name");
	if (many || args->values > AJ_TOOL_ARGUMENT_VALUES) {
		*ret_type = AJ_TOOL_ARGUMENTS;
		snprintf(ret_why, why_bytes, "%s: the arguments have too many values, of at most %d", tool->name,
		         AJ_TOOL_ARGUMENT_VALUES);
		return AJ_CALL_REFUSED;
	}
	ret->tool = tool;
	tool->references++;
	return AJ_CALL_OK;
}

enum aj_call aj_tool_check_args(struct aj_tool_call *call, const char *text, const struct aj_scan *scan, const char **ret_type,
                                char *ret_why, size_t why_bytes)
{
	const struct aj_span *span = aj_scan_member(scan, text, "args");
	const char *why = NULL;
	char reason[AJ_SCHEMA_WHY_BYTES];
	*ret_type = NULL;
	json_t *args = aj_json_read(text + span->at, span->bytes, &why);
	if (!args)
		return misshapen(ret_why, why_bytes);
	json_t *plain = aj_plain(args, &why);
	json_decref(args);
	if (!plain)
		return refuse(ret_type, AJ_TOOL_ARGUMENTS, ret_why, why_bytes, why);
	if (aj_schema_check(call->tool->parameters_schema, plain, reason, sizeof reason)) {
		call->args = plain;
		return AJ_CALL_OK;
	}
	json_decref(plain);
	*ret_type = AJ_TOOL_ARGUMENTS;
	snprintf(ret_why, why_bytes, "%s: %s", call->tool->name, reason);
	return AJ_CALL_REFUSED;
}

void aj_tool_call_free(struct aj_tool_call *call)
{
	aj_tool_release(call->tool);
	json_decref(call->args);
	*call = (struct aj_tool_call){ 0 };
}

static size_t compact_bytes(const json_t *value)
{
	struct aj_buffer out = { 0 };
	aj_buffer_json(&out, value);
	size_t bytes = out.bytes;
	aj_buffer_free(&out);
	return bytes;
}

bool aj_tool_check_result(const struct aj_tool *tool, const json_t *value, char *ret_why, size_t why_bytes)
{
	const char *why;
	char reason[AJ_SCHEMA_WHY_BYTES];
	json_t *plain = aj_plain((json_t *)value, &why);
	if (!plain) {
		snprintf(ret_why, why_bytes, "%s: result: %s", tool->name, why);
		return false;
	}
	size_t bytes = compact_bytes(value);
	bool fits = bytes <= tool->result_bytes;
	if (!fits)
		snprintf(ret_why, why_bytes, "%s: result: it has %zu bytes, of at most %zu", tool->name, bytes,
		         tool->result_bytes);
	else if (tool->returns_schema && !aj_schema_check(tool->returns_schema, plain, reason, sizeof reason)) {
		snprintf(ret_why, why_bytes, "%s: result%s%s", tool->name, *reason == '/' ? "" : ": ", reason);
		fits = false;
	}
	json_decref(plain);
	return fits;
}

static bool is_identifier(const char *type)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	size_t bytes = strlen(type);
	return bytes > 0 && bytes <= AJ_TOOL_NAME_BYTES && strspn(type, letters) == bytes && !(*type >= '0' && *type <= '9');
}

json_t *aj_tools_error_json(const char *type, const char *message, size_t message_bytes)
{
	char text[AJ_TOOL_ERROR_BYTES];
	size_t used = 0;
	for (size_t i = 0, n; i < message_bytes; i += n) {
		enum aj_char_kind kind = aj_char_first(message + i, message_bytes - i, &n);
		const char *put = kind == AJ_CHAR_INVALID ? AJ_UTF8_REPLACEMENT : kind == AJ_CHAR_CONTROL ? " " : message + i;
		size_t bytes = kind >= AJ_CHAR_CONTROL ? strlen(put) : n;
		if (bytes > sizeof text - used)
			break;
		memcpy(text + used, put, bytes);
		used += bytes;
	}
	return json_pack("{s:s, s:s%}", "type", type && is_identifier(type) ? type : AJ_TOOL_FAILED, "message", text, used);
}
