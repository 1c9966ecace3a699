/* Tools: functions of the orchestrator that code inside a jail may call. Checks declarations, calls and results;
 * it runs no tool, and trusts no message from inside. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json/scan.h"
#include "session/tools/declaration.h"

/* A zeroed set is empty. */
struct aj_tools {
	struct aj_tool *items[AJ_TOOLS_MAX]; /* in the order in which they were first declared */
	size_t count;
};

/* Add the tools of `list`, an array of objects {"name", "description", "parameters", "returns", "async", "reserved", "variadic",
 * "timeout_ms", "result_bytes"}; a tool replaces one of the same name. Adds all of them and returns 0, or none and returns -1
 * with `err`. The set keeps references to the objects of the list, which must not be changed from then on. */
int aj_tools_declare(struct aj_tools *tools, const json_t *list, struct aj_error *err);
/* Fill the empty set `ret` with references to the same tools. */
void aj_tools_share(struct aj_tools *ret, const struct aj_tools *tools);
const struct aj_tool *aj_tools_find(const struct aj_tools *tools, const char *name);
/* The declarations for the guest, [{"name", "description", "parameters", "returns" (null: anything), "async", "reserved" (if
 * true), "variadic" (if there)}]: a new reference, whose schemas belong to the set and must not be changed. */
json_t *aj_tools_json(const struct aj_tools *tools);
void aj_tools_free(struct aj_tools *tools);

/* A call, which owns its tool and arguments: declaring the tool anew does not change a call under way. */
struct aj_tool_call {
	uint64_t number;      /* chosen by the jail; the caller checks that it is not in use */
	struct aj_tool *tool; /* set for AJ_CALL_OK */
	json_t *args; /* set by aj_tool_check_args(): an object that fits `parameters`, plain JSON (session/jsonschema/plain.h) */
};

enum aj_call {
	AJ_CALL_OK,
	AJ_CALL_REFUSED,   /* answer the call with an error of `ret_type`: unknown tool, or arguments that do not fit */
	AJ_CALL_MISSHAPEN, /* no call, so it cannot be answered */
};

/* Check a jail's message, which must be exactly {"call": NUMBER, "tool": NAME, "args": {...}}, its names without escapes. Number
 * and tool are read from the text: no tree is built for a refused call. `ret->number` is set unless misshapen, `ret->tool` when
 * OK; `ret_type` is one of the names above when refused. `scan` has been fed the whole text, or as much as AJ_TOOL_CALL_VALUES
 * allows. */
enum aj_call aj_tools_check_call(const struct aj_tools *tools, const char *text, struct aj_scan *scan, struct aj_tool_call *ret,
                                 const char **ret_type, char *ret_why, size_t why_bytes);
/* The declared tool that a message names which is not misshapen; NULL without one. */
const struct aj_tool *aj_tools_called(const struct aj_tools *tools, const char *text, const struct aj_scan *scan);
/* Then check that call's arguments, from the same text; sets `call->args` when OK. Pass these on, never the jail's text: only
 * they are checked. */
enum aj_call aj_tool_check_args(struct aj_tool_call *call, const char *text, const struct aj_scan *scan, const char **ret_type,
                                char *ret_why, size_t why_bytes);
void aj_tool_call_free(struct aj_tool_call *call);

/* Does a tool's value fit `returns`, and as compact JSON result_bytes? Typed tags stay in it; code inside gets the values that
 * they stand for. */
bool aj_tool_check_result(const struct aj_tool *tool, const json_t *value, char *ret_why, size_t why_bytes);

/* A new {"type": ..., "message": ...} for the code inside: `type` an identifier, `message` at most AJ_TOOL_ERROR_BYTES of
 * UTF-8 without control characters but newline and tab. Paths or secrets in a message are not removed. */
json_t *aj_tools_error_json(const char *type, const char *message, size_t message_bytes);
