/* A session's tools, and the tool calls that wait for an answer. */
#pragma once
#include "base/loop/loop.h"
#include "session/call_log.h"
#include "session/tools/tools.h"

enum {
	AJ_CALLS_MAX = 64,         /* pending at a time */
	AJ_CALLS_BYTES = 64 << 20, /* of all pending arguments, as the jail wrote them */
	AJ_CALLS_REFUSED = 256, /* invalid calls in one run (undeclared tool, or arguments that do not fit): then the run ends */
};

struct aj_calls;

struct aj_waiting_call {
	struct aj_calls *calls;
	struct aj_tool_call call; /* tool NULL: a free slot. Without the arguments: on_call() owns those */
	size_t bytes;
	size_t logged; /* its index in the log */
	struct aj_timer timer;
};

struct aj_calls {
	struct aj_tools tools;
	struct aj_loop *loop;
	void (*on_call)(void *arg, const struct aj_tool_call *call); /* a valid call */
	void (*send)(void *arg, const char *text, size_t bytes);     /* an answer for the jail */
	void (*on_waits)(void *arg, bool waits); /* the first pending call came, or the last one ended; or NULL */
	void *arg;
	size_t count;                /* of pending calls */
	uint64_t last;               /* the highest number of a call so far */
	size_t bytes;                /* of all pending calls */
	size_t refused;              /* cost of the run's refused calls, see session/calls.c */
	char why[AJ_TOOL_WHY_BYTES]; /* of the last refused call */
	struct aj_call_log log;      /* of the run */
	struct aj_waiting_call waiting[AJ_CALLS_MAX];
};

void aj_calls_init(struct aj_calls *calls, struct aj_loop *loop, void (*on_call)(void *, const struct aj_tool_call *),
                   void (*send)(void *, const char *, size_t), void *arg);
int aj_calls_declare(struct aj_calls *calls, const json_t *list, struct aj_error *err);
/* The tool list that the guest gets, as text; malloced. */
char *aj_calls_tools(const struct aj_calls *calls);

/* Take one call from the jail; `arg` is a struct aj_calls. An invalid call is answered here. Returns what on_call in struct
 * aj_channel returns. */
unsigned aj_calls_take(void *arg, const char *body, size_t bytes, struct aj_scan *scan, const char **ret_why);
int aj_calls_value(struct aj_calls *calls, uint64_t number, const json_t *value, struct aj_error *err);
int aj_calls_error(struct aj_calls *calls, uint64_t number, const char *type, const char *message, struct aj_error *err);
/* The tool of a call that waits for an answer; NULL: no call waits. */
const char *aj_calls_awaited(const struct aj_calls *calls);
/* The run is over: drop all pending calls. The log stays, for aj_call_log_report(). */
void aj_calls_drop(struct aj_calls *calls);
void aj_calls_free(struct aj_calls *calls);
