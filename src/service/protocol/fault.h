/* The protocol's errors: their codes, and the code for each error of the session manager. */
#pragma once
#include <stdint.h>

#include "base/error.h"

enum aj_fault_code {
	AJ_CODE_BAD_REQUEST,
	AJ_CODE_UNKNOWN_OP,
	AJ_CODE_TOO_LARGE,
	AJ_CODE_REQUEST_TIMEOUT,
	AJ_CODE_BUSY,
	AJ_CODE_NO_SUCH_POLICY,
	AJ_CODE_NO_SUCH_SESSION,
	AJ_CODE_NO_SUCH_REQUEST,
	AJ_CODE_NO_SUCH_CALL,
	AJ_CODE_NO_SUCH_FILE,
	AJ_CODE_DENIED,
	AJ_CODE_SETUP_ERROR,
	AJ_CODE_CLOSED,
	AJ_CODE_INTERRUPTED,
	AJ_CODE_SHUTTING_DOWN,
	AJ_CODES,
};
const char *aj_fault_name(enum aj_fault_code code);
const char *aj_fault_help(enum aj_fault_code code);

struct json_t;

/* An error as sent to the client. */
struct aj_fault {
	enum aj_fault_code code;
	char message[512], fix[640];
	uint64_t retry_ms; /* 0: not sent */
	/* Of a `tool_result` without an id: what it was to answer. `request` NULL: not sent. */
	const struct json_t *request;
	uint64_t call;
	struct aj_error source; /* if it has an exit code, the answer is the result of a snippet that cannot run */
};
/* Always returns -1. */
int aj_fault(struct aj_fault *fault, enum aj_fault_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same for an error of the session manager; the code is decided by its reason. Always returns -1. */
int aj_fault_from(struct aj_fault *fault, const struct aj_error *err);
