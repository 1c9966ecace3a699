/* The calls of tools in one run, for its result: name, size of the arguments, time and outcome. */
#pragma once
#include <stdint.h>

#include "jail/result/result_members.h"
#include "session/tools/tools.h"

enum { AJ_CALLS_LOGGED = 100 }; /* the first calls of a run; further ones are only counted */

enum aj_call_outcome {
	AJ_CALL_UNANSWERED, /* no answer came before the run ended */
	AJ_CALL_VALUE,
	AJ_CALL_ERROR, /* from the tool */
	AJ_CALL_TIMEOUT,
	AJ_CALL_TURNED_DOWN, /* not declared, arguments that do not fit, or no room; no tool got it */
};

struct aj_logged_call {
	char tool[AJ_TOOL_NAME_BYTES + 1]; /* empty: no declared tool */
	size_t args_bytes;
	int64_t began_us, us;
	enum aj_call_outcome outcome;
};

/* A zeroed log is empty. */
struct aj_call_log {
	struct aj_logged_call *calls; /* NULL before the first call */
	size_t count;                 /* of all calls, of which the first AJ_CALLS_LOGGED are kept */
};

/* A call begins. Returns its index, for aj_call_log_end(). `tool`: NULL where none of that name is declared. */
size_t aj_call_log_begin(struct aj_call_log *log, const struct aj_tool *tool, size_t args_bytes);
void aj_call_log_end(struct aj_call_log *log, size_t index, enum aj_call_outcome outcome);
/* Add `tool_calls` to a run's result, and `tool_calls_more` if calls were left out; nothing without a call. Empties the log. */
void aj_call_log_report(struct aj_call_log *log, struct aj_members *result);
void aj_call_log_free(struct aj_call_log *log);
