/* Keeps what the supervisor itself saw of a run's tool calls, and writes it into the result.
 * It keeps no argument, no value and no text from the jail: a name is that of a declared tool. */
#include "session/call_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

static const char *const outcomes[] = {
	[AJ_CALL_UNANSWERED] = "unanswered", [AJ_CALL_VALUE] = "ok", [AJ_CALL_ERROR] = "error", [AJ_CALL_TIMEOUT] = "timeout",
	[AJ_CALL_TURNED_DOWN] = "refused",
};

size_t aj_call_log_begin(struct aj_call_log *log, const struct aj_tool *tool, size_t args_bytes)
{
	size_t index = log->count++;
	if (index == 0)
		log->calls = malloc(AJ_CALLS_LOGGED * sizeof *log->calls);
	if (index >= AJ_CALLS_LOGGED || !log->calls)
		return AJ_CALLS_LOGGED;
	struct aj_logged_call *call = &log->calls[index];
	strcpy(call->tool, tool ? tool->name : "");
	call->args_bytes = args_bytes;
	call->began_us = aj_now_us();
	call->us = 0;
	call->outcome = AJ_CALL_UNANSWERED;
	return index;
}

void aj_call_log_end(struct aj_call_log *log, size_t index, enum aj_call_outcome outcome)
{
	if (index >= AJ_CALLS_LOGGED)
		return;
	log->calls[index].us = aj_now_us() - log->calls[index].began_us;
	log->calls[index].outcome = outcome;
}

void aj_call_log_report(struct aj_call_log *log, struct aj_members *result)
{
	size_t kept = !log->calls ? 0 : log->count < AJ_CALLS_LOGGED ? log->count : AJ_CALLS_LOGGED;
	if (log->count) {
		json_t *list = json_array();
		for (size_t i = 0; i < kept; i++) {
			const struct aj_logged_call *call = &log->calls[i];
			json_int_t bytes = (json_int_t)call->args_bytes, wall_ms = (json_int_t)((call->us + 999) / 1000);
			const char *tool = *call->tool ? call->tool : NULL;
			json_array_append_new(list, json_pack("{s:s?, s:I, s:I, s:s}", "tool", tool, "args_bytes", bytes,
			                                      "wall_ms", wall_ms, "outcome", outcomes[call->outcome]));
		}
		aj_member_json(result, "tool_calls", list);
	}
	if (log->count > kept)
		aj_member_json(result, "tool_calls_more", json_integer((json_int_t)(log->count - kept)));
	aj_call_log_free(log);
}

void aj_call_log_free(struct aj_call_log *log)
{
	free(log->calls);
	*log = (struct aj_call_log){ 0 };
}
