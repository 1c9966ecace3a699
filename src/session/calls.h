/* A session's tools and the calls of them that wait for an answer. */
#pragma once
#include "base/loop.h"
#include "tools/tools.h"

enum {
	AJ_CALLS_MAX = 64,         /* under way at a time */
	AJ_CALLS_BYTES = 64 << 20, /* of all their arguments, as the jail wrote them */
	AJ_CALLS_REFUSED = 256, /* in one run, of tools that are not declared or with arguments that do not fit: then the run ends */
};

struct aj_calls;

struct aj_waiting_call {
	struct aj_calls *calls;
	struct aj_tool_call call; /* tool NULL: free. Without its arguments, which are whoever's that was handed them */
	size_t bytes;
	struct aj_timer timer;
};

struct aj_calls {
	struct aj_tools tools;
	struct aj_loop *loop;
	void (*on_call)(void *arg, const struct aj_tool_call *call); /* a call that fits */
	void (*send)(void *arg, const char *text, size_t bytes);     /* an answer, to the jail */
	void *arg;
	size_t bytes;                /* of all that wait */
	size_t refused;              /* what the run's refused calls cost, see session/calls.c */
	char why[AJ_TOOL_WHY_BYTES]; /* of the last call that it refused */
	struct aj_waiting_call waiting[AJ_CALLS_MAX];
};

void aj_calls_init(struct aj_calls *calls, struct aj_loop *loop, void (*on_call)(void *, const struct aj_tool_call *),
                   void (*send)(void *, const char *, size_t), void *arg);
int aj_calls_declare(struct aj_calls *calls, const json_t *list, struct aj_error *err);
/* What the guest is told of them, as text; malloced. */
char *aj_calls_tools(const struct aj_calls *calls);

/* What the jail sent; `arg` is a struct aj_calls. One that does not fit is answered here. See struct aj_channel for what comes back. */
unsigned aj_calls_take(void *arg, const char *body, size_t bytes, struct aj_scan *scan, const char **ret_why);
int aj_calls_value(struct aj_calls *calls, uint64_t number, const json_t *value, struct aj_error *err);
int aj_calls_error(struct aj_calls *calls, uint64_t number, const char *type, const char *message, struct aj_error *err);
/* The run is over: nobody waits any more. */
void aj_calls_drop(struct aj_calls *calls);
void aj_calls_free(struct aj_calls *calls);
