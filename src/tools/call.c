/* What passes between a jail and a tool: calls from inside, results and errors from outside.
 * It refuses what has not exactly the shape that it should have, and hands on only what it has checked. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/plain.h"
#include "tools/tools.h"

enum { CALL_KEYS = 3 };
static const json_int_t LARGEST_NUMBER = ((json_int_t)1 << 53) - 1;

static enum aj_call refuse(const char **ret_type, const char *type, char *ret_why, size_t why_bytes, const char *why)
{
	*ret_type = type;
	snprintf(ret_why, why_bytes, "%s", why);
	return AJ_CALL_REFUSED;
}

enum aj_call aj_tools_check_call(const struct aj_tools *tools, const json_t *call, struct aj_tool_call *ret,
                                 const char **ret_type, char *ret_why, size_t why_bytes)
{
	json_t *number = json_object_get(call, "call"), *args = json_object_get(call, "args");
	const char *name = json_string_value(json_object_get(call, "tool")), *why = NULL;
	*ret = (struct aj_tool_call){ 0 };
	*ret_type = NULL;
	if (json_object_size(call) != CALL_KEYS || !json_is_integer(number) || json_integer_value(number) < 0 ||
	    json_integer_value(number) > LARGEST_NUMBER || !name || !json_is_object(args)) {
		snprintf(ret_why, why_bytes, "not a call: {\"call\": NUMBER, \"tool\": NAME, \"args\": {...}}");
		return AJ_CALL_MISSHAPEN;
	}
	ret->number = (uint64_t)json_integer_value(number);
	const struct aj_tool *tool = aj_tools_find(tools, name);
	if (!tool)
		return refuse(ret_type, AJ_TOOL_UNKNOWN, ret_why, why_bytes, "there is no tool of this name");
	json_t *plain = aj_plain(args, &why);
	if (!plain)
		return refuse(ret_type, AJ_TOOL_ARGUMENTS, ret_why, why_bytes, why);
	char reason[AJ_SCHEMA_WHY_BYTES];
	if (aj_schema_check(tool->parameters_schema, plain, reason, sizeof reason)) {
		ret->tool = (struct aj_tool *)tool;
		ret->tool->references++;
		ret->args = plain;
		return AJ_CALL_OK;
	}
	json_decref(plain);
	*ret_type = AJ_TOOL_ARGUMENTS;
	snprintf(ret_why, why_bytes, "%s: %s", tool->name, reason);
	return AJ_CALL_REFUSED;
}

void aj_tool_call_free(struct aj_tool_call *call)
{
	aj_tool_release(call->tool);
	json_decref(call->args);
	*call = (struct aj_tool_call){ 0 };
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
	size_t bytes = json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
	bool fits = bytes > 0 && bytes <= tool->result_bytes;
	if (!fits)
		snprintf(ret_why, why_bytes, "%s: result: it has %zu bytes, of at most %zu", tool->name, bytes, tool->result_bytes);
	else if (tool->returns_schema && !aj_schema_check(tool->returns_schema, plain, reason, sizeof reason)) {
		snprintf(ret_why, why_bytes, "%s: result%s%s", tool->name, *reason == '/' ? "" : ": ", reason);
		fits = false;
	}
	json_decref(plain);
	return fits;
}

static bool identifier(const char *type)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	size_t bytes = strlen(type);
	return bytes > 0 && bytes <= AJ_TOOL_NAME_BYTES && strspn(type, letters) == bytes && !(*type >= '0' && *type <= '9');
}

/* One character: C0 but newline and tab, DEL, C1. */
static bool control(const unsigned char *c)
{
	return (*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0);
}

json_t *aj_tools_error_json(const char *type, const char *message, size_t message_bytes)
{
	char text[AJ_TOOL_ERROR_BYTES];
	size_t used = 0;
	for (size_t i = 0, n; i < message_bytes; i += n ? n : 1) {
		const char *put = message + i;
		size_t bytes = n = aj_utf8_first(put, message_bytes - i);
		if (n == 0) {
			put = "\xef\xbf\xbd";
			bytes = 3;
		} else if (n <= 2 && control((const unsigned char *)put)) {
			put = " ";
			bytes = 1;
		}
		if (bytes > sizeof text - used)
			break;
		memcpy(text + used, put, bytes);
		used += bytes;
	}
	return json_pack("{s:s, s:s%}", "type", type && identifier(type) ? type : AJ_TOOL_FAILED, "message", text, used);
}
