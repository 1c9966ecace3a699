/* One tool as it was declared and checked, and the limits of a declaration. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "session/jsonschema/schema.h"

#define AJ_TOOLS_STEP "tools" /* of errors */

enum {
	AJ_TOOLS_MAX = 128,                                /* in a set */
	AJ_TOOLS_MAX_BYTES = 1 << 20,                      /* of aj_tools_json() as compact JSON */
	AJ_TOOL_PARAMETERS = 100,                          /* of one tool */
	AJ_TOOL_NAME_BYTES = 64,                           /* of a tool's and of a parameter's name */
	AJ_TOOL_ARGUMENT_VALUES = 10000,                   /* JSON values of one call's arguments: the host builds their tree */
	AJ_TOOL_CALL_VALUES = AJ_TOOL_ARGUMENT_VALUES + 3, /* of the whole call: its object, number and name */
	AJ_TOOL_DESCRIPTION_BYTES = 8192,                  /* of one tool */
	AJ_TOOL_TIMEOUT_MS = 60 * 1000,                    /* where the declaration has none */
	AJ_TOOL_MAX_TIMEOUT_MS = 3600 * 1000,
	AJ_TOOL_RESULT_BYTES = 1 << 20, /* where the declaration has none */
	AJ_TOOL_MAX_RESULT_BYTES = 16 << 20,
	AJ_TOOL_ERROR_BYTES = 2000, /* of an error's message */
	AJ_TOOL_WHY_BYTES = 600,    /* enough for every reason */
};

/* Types of the errors that agentjail raises and no tool, as code inside sees them. */
#define AJ_TOOL_UNKNOWN "UnknownTool"     /* no tool of that name is declared */
#define AJ_TOOL_ARGUMENTS "ArgumentError" /* the arguments do not fit `parameters` */
#define AJ_TOOL_RESULT "ResultError"      /* the tool's value does not fit `returns`, or is too big */
#define AJ_TOOL_TIMEOUT "TimeoutError"    /* raised by the caller, which measures the time */
#define AJ_TOOL_FAILED "ToolFailure"      /* in place of a type that is no identifier, by aj_tools_error_json() */

struct aj_tool {
	/* As declared; read only. */
	const char *name, *description; /* description: "" without one */
	json_t *parameters;
	json_t *returns; /* NULL: anything */
	bool async;
	bool reserved;        /* a snippet that binds the name is rejected */
	const char *variadic; /* the property that takes all further positional arguments; NULL: none */
	uint64_t timeout_ms;
	size_t result_bytes;
	/* Private to src/session/tools. */
	struct aj_arena arena;
	json_t *declaration; /* owns the strings and values above */
	const struct aj_schema *parameters_schema, *returns_schema;
	unsigned references;
};

/* A tool with one reference, or NULL with err set. `index`: of the declaration in its list, for messages. */
struct aj_tool *aj_tool_declare(json_t *declaration, size_t index, struct aj_error *err);
void aj_tool_release(struct aj_tool *tool); /* drop one reference, of a set or a call */
