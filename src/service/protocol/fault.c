/* The protocol's error codes: one table for their names, one from an error's reason to its code.
 * It never parses an error's text, and leaves retry_ms to callers that know how busy the service is. */
#include "service/protocol/fault.h"

#include <stdarg.h>
#include <stdio.h>

/* clang-format off */
static const struct {
	const char *name, *help;
} codes[AJ_CODES] = {
	[AJ_CODE_BAD_REQUEST] = { "bad_request",
	  "not JSON, not an object, or a member that is missing, unknown, given twice, "
	  "of the wrong type or out of range; nothing was begun" },
	[AJ_CODE_UNKNOWN_OP] = { "unknown_op", "there is no such operation" },
	[AJ_CODE_TOO_LARGE] = { "too_large",
	  "a frame longer than `hello.limits.request_bytes`, or an empty one; the connection is closed" },
	[AJ_CODE_REQUEST_TIMEOUT] = { "request_timeout",
	  "a frame was not complete within `hello.limits.request_ms`; the connection is closed" },
	[AJ_CODE_BUSY] = { "busy",
	  "no room: too many clients, sessions, checkpoints or waiting requests, "
	  "or the session already runs a snippet. `retry_ms` is an estimate of when to try again" },
	[AJ_CODE_NO_SUCH_POLICY] = { "no_such_policy", "the service has no policy of that name" },
	[AJ_CODE_NO_SUCH_SESSION] = { "no_such_session", "this connection has no session of that name, or has no longer" },
	[AJ_CODE_NO_SUCH_REQUEST] = { "no_such_request", "no request of that `id` is under way on this connection" },
	[AJ_CODE_NO_SUCH_CALL] = { "no_such_call",
	  "no call with that number is waiting for an answer, or the value does not fit the tool's `returns`: "
	  "then the call keeps waiting" },
	[AJ_CODE_NO_SUCH_FILE] = { "no_such_file",
	  "the jail has no such file at this path, or one of another kind, or the path leads through a symlink" },
	[AJ_CODE_DENIED] = { "denied",
	  "the service serves only its own user and root, and the connection is closed; "
	  "or the policy lets no request ask for that, and nothing was begun" },
	[AJ_CODE_SETUP_ERROR] = { "setup_error", "the jail could not be built, or the policy does not load; nothing ran" },
	[AJ_CODE_CLOSED] = { "closed", "it was closed, by this connection's own word, or the session's jail ended" },
	[AJ_CODE_INTERRUPTED] = { "interrupted", "interrupted while it waited for a jail; nothing ran" },
	[AJ_CODE_SHUTTING_DOWN] = { "shutting_down",
	  "the service stops: it begins no new request, and ends requests that take too long" },
};
/* clang-format on */

/* The reasons from AJ_REASON_PROCESS on are about building a jail. */
static const enum aj_fault_code by_reason[AJ_REASONS] = {
	[AJ_REASON_NONE] = AJ_CODE_SETUP_ERROR,    [AJ_REASON_INPUT] = AJ_CODE_BAD_REQUEST,
	[AJ_REASON_SETUP] = AJ_CODE_SETUP_ERROR,   [AJ_REASON_BUSY] = AJ_CODE_BUSY,
	[AJ_REASON_CLOSED] = AJ_CODE_CLOSED,       [AJ_REASON_POLICY] = AJ_CODE_SETUP_ERROR,
	[AJ_REASON_CGROUP] = AJ_CODE_SETUP_ERROR,  [AJ_REASON_DENIED] = AJ_CODE_DENIED,
	[AJ_REASON_PROCESS] = AJ_CODE_SETUP_ERROR, [AJ_REASON_NAMESPACE] = AJ_CODE_SETUP_ERROR,
	[AJ_REASON_PROC] = AJ_CODE_SETUP_ERROR,    [AJ_REASON_MOUNT] = AJ_CODE_SETUP_ERROR,
	[AJ_REASON_SOURCE] = AJ_CODE_SETUP_ERROR,  [AJ_REASON_OVERLAY] = AJ_CODE_SETUP_ERROR,
	[AJ_REASON_FILE] = AJ_CODE_NO_SUCH_FILE,   [AJ_REASON_CODE] = AJ_CODE_BAD_REQUEST,
};

const char *aj_fault_name(enum aj_fault_code code)
{
	return codes[code].name;
}

const char *aj_fault_help(enum aj_fault_code code)
{
	return codes[code].help;
}

int aj_fault(struct aj_fault *fault, enum aj_fault_code code, const char *fmt, ...)
{
	*fault = (struct aj_fault){ .code = code };
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(fault->message, sizeof fault->message, fmt, ap);
	va_end(ap);
	return -1;
}

int aj_fault_from(struct aj_fault *fault, const struct aj_error *err)
{
	char text[500];
	aj_fault(fault, by_reason[err->reason], "%s", aj_error_text(err, text, sizeof text));
	snprintf(fault->fix, sizeof fault->fix, "%s", err->fix);
	if (err->reason == AJ_REASON_CODE)
		fault->source = *err;
	return -1;
}
