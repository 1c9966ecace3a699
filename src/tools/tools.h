/* Tools: functions of the orchestrator that code inside a jail may call. What was declared, and what a call and its
 * result must look like; nothing here runs a tool, and nothing from inside is taken at its word. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json_scan.h"
#include "jsonschema/schema.h"

enum {
	AJ_TOOLS_MAX = 128,              /* in a set */
	AJ_TOOLS_MAX_BYTES = 1 << 20,    /* of aj_tools_json() as compact JSON */
	AJ_TOOL_PARAMETERS = 100,        /* of one tool */
	AJ_TOOL_NAME_BYTES = 64,         /* of a tool's and of a parameter's name */
	AJ_TOOL_ARGUMENT_VALUES = 10000, /* JSON values of one call's arguments: the time that their tree takes is the host's */
	AJ_TOOL_CALL_VALUES = AJ_TOOL_ARGUMENT_VALUES + 3, /* of the whole call: itself, number and name */
	AJ_TOOL_DESCRIPTION_BYTES = 8192,                  /* of one tool */
	AJ_TOOL_TIMEOUT_MS = 60 * 1000,                    /* where the declaration has none */
	AJ_TOOL_MAX_TIMEOUT_MS = 3600 * 1000,
	AJ_TOOL_RESULT_BYTES = 1 << 20, /* where the declaration has none */
	AJ_TOOL_MAX_RESULT_BYTES = 16 << 20,
	AJ_TOOL_ERROR_BYTES = 2000, /* of an error's message */
	AJ_TOOL_WHY_BYTES = 600,    /* enough for every reason */
};

/* Types of the errors that come from here and not from a tool, as code inside sees them. */
#define AJ_TOOL_UNKNOWN "UnknownTool"     /* no tool of that name is declared */
#define AJ_TOOL_ARGUMENTS "ArgumentError" /* the arguments do not fit `parameters` */
#define AJ_TOOL_RESULT "ResultError"      /* the tool's value does not fit `returns`, or is too big */
#define AJ_TOOL_TIMEOUT "TimeoutError"    /* for the caller, who has the clock */
#define AJ_TOOL_FAILED "ToolFailure"      /* what aj_tools_error_json() makes of a type that is no identifier */

struct aj_tool {
	/* As declared; read only. */
	const char *name, *description; /* description: "" without one */
	json_t *parameters;
	json_t *returns; /* NULL: anything */
	bool async;
	uint64_t timeout_ms;
	size_t result_bytes;
	/* Ours. */
	struct aj_arena arena;
	json_t *declaration; /* what the rest points into */
	const struct aj_schema *parameters_schema, *returns_schema;
	unsigned references;
};

/* Zeroed is the empty set. */
struct aj_tools {
	struct aj_tool *items[AJ_TOOLS_MAX]; /* in the order in which they were first declared */
	size_t count;
};

/* Add the tools of `list`, an array of objects {"name", "description", "parameters", "returns", "async", "timeout_ms",
 * "result_bytes"}; one of a name that is there takes its place. All of them, or -1 with `err` and none. The set keeps
 * references to the objects of the list, which must not be changed from then on. */
int aj_tools_declare(struct aj_tools *tools, const json_t *list, struct aj_error *err);
/* Into an empty set: the same tools, which are not copied. */
void aj_tools_share(struct aj_tools *ret, const struct aj_tools *tools);
const struct aj_tool *aj_tools_find(const struct aj_tools *tools, const char *name);
/* What the guest is told, [{"name", "description", "parameters", "returns" (null: anything), "async"}]: a new reference,
 * whose schemas are the set's own and must not be changed. */
json_t *aj_tools_json(const struct aj_tools *tools);
void aj_tools_free(struct aj_tools *tools);
void aj_tool_release(struct aj_tool *tool); /* one reference; for the set and for calls */

/* Owned; the tool stays what it was when the call came, whatever is declared meanwhile. */
struct aj_tool_call {
	uint64_t number;      /* the jail's name for this call; that it is not in use already is for the caller to see */
	struct aj_tool *tool; /* set for AJ_CALL_OK */
	json_t *args;         /* once they were checked: an object that fits `parameters`, plain JSON (jsonschema/plain.h) */
};

enum aj_call {
	AJ_CALL_OK,
	AJ_CALL_REFUSED,   /* a call, and its answer is an error of `ret_type`: unknown tool, or arguments that do not fit */
	AJ_CALL_MISSHAPEN, /* no call at all: nobody whom one could answer */
};

/* What a jail sent: {"call": NUMBER, "tool": NAME, "args": {...}}, exactly, with these names as they are here, without escapes. First whose call
 * it is: that is read off the text, and nothing is built or copied for a call that is refused. `ret->number` is set unless misshapen, `ret->tool`
 * when OK; `ret_type` is one of the names above when refused. `scan` has seen the whole text, with `nul`,
 * or as much of it as AJ_TOOL_CALL_VALUES let it. */
enum aj_call aj_tools_check_call(const struct aj_tools *tools, const char *text, struct aj_scan *scan, struct aj_tool_call *ret,
                                 const char **ret_type, char *ret_why, size_t why_bytes);
/* Then the arguments of that call, of the same text: sets `call->args`, or else nothing. Hand these on, never the jail's own text: only they
 * were checked. */
enum aj_call aj_tool_check_args(struct aj_tool_call *call, const char *text, const struct aj_scan *scan, const char **ret_type,
                                char *ret_why, size_t why_bytes);
void aj_tool_call_free(struct aj_tool_call *call);

/* A value from the tool's implementation: does it fit `returns`, and in result_bytes as compact JSON? Typed tags are left in
 * it for the code inside, which gets the values that they stand for. */
bool aj_tool_check_result(const struct aj_tool *tool, const json_t *value, char *ret_why, size_t why_bytes);

/* {"type": ..., "message": ...}, new, for the code inside: `type` an identifier, `message` at most AJ_TOOL_ERROR_BYTES of
 * UTF-8 without control characters but newline and tab. That is all: paths or secrets in the words of a message stay. */
json_t *aj_tools_error_json(const char *type, const char *message, size_t message_bytes);
