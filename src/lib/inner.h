/* What the parts of the library know of each other; of the program only `agentjail session` includes it. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "session/manager.h"

/* The one header whose functions are seen outside of a shared library. */
#pragma GCC visibility push(default)
#include "lib/agentjail.h"
#pragma GCC visibility pop

/* A tool and who runs it. Several sets may hold one. */
struct aj_lib_tool {
	unsigned references;
	json_t *declaration;
	char *(*call)(void *arg, const char *args_json, char **error);
	void *arg;
};

struct aj_lib_tools {
	struct aj_lib_tool **items;
	size_t count;
};

/* Waits for its tool to be run, outside of the loop. */
struct aj_lib_call {
	struct aj_lib_call *next;
	uint64_t number;
	struct aj_lib_tool *tool;
	char *args; /* as text, which takes a fraction of what it stands for */
};

struct agentjail {
	long thread; /* of all threads of all processes, the only one that may use it */
	struct aj_arena arena;
	struct aj_loop *loop;
	struct aj_manager *manager;
	struct aj_ask ask;
	const char *tenant, *workspace;
	struct aj_lib_tools tools; /* for sessions to come */
	agentjail_session *sessions;
	struct aj_io wake; /* an eventfd: somebody interrupts */
	int wake_fd;
	void (*log)(void *arg, const char *line);
	void *log_arg;
	bool in_callback; /* we are in a callback of output or log */
	unsigned entered; /* calls that wait, one inside a tool of the other */
};

struct agentjail_session {
	agentjail *handle;
	agentjail_session *next;
	struct aj_session *inner; /* NULL: closed */
	struct aj_lib_tools tools;
	bool opened, ended; /* it has a jail, or will never have one; it has none any more */
	struct aj_error open_error;
	char why[560]; /* it has ended */
	int interrupt; /* set by anybody, at any time */
	unsigned entered;
	bool branching; /* a checkpoint is being made, or gone back to */
	struct aj_error branch_error;

	/* A run: asked for, perhaps before the jail is there; then begun; then it has one of result and error. */
	bool asked, begun;
	struct aj_arena arena; /* its snippet's */
	struct aj_snippet snippet;
	void (*output)(void *arg, int number, const char *data, size_t bytes);
	void *output_arg;
	json_t *result;
	struct aj_error error;
	struct aj_lib_call *calls, **calls_end;
};

/* handle.c. All of `ask` and `config` must stay as long as the handle. */
agentjail *aj_lib_open(const struct aj_manager_config *config, const struct aj_ask *ask, const char *tenant,
                       const char *workspace, struct aj_error *err);
/* May this call go on? -1 with err: another thread, another process, or from inside of a callback of output or log. */
int aj_lib_enter(const agentjail *handle, struct aj_error *err);
/* One turn of the loop, then the tools that were called. */
int aj_lib_turn(agentjail *handle, int64_t until_us, struct aj_error *err);

/* session.c */
agentjail_session *aj_lib_session_open(agentjail *handle, const char *workspace, bool branching, struct aj_error *err);
agentjail_session *aj_lib_session_fork(agentjail_session *session, struct aj_error *err);
/* Until it is open; -1 with err: it will never be, and is closed. */
int aj_lib_session_await(agentjail_session *session, struct aj_error *err);
void aj_lib_session_free(agentjail_session *session);
/* Somebody has called agentjail_interrupt(). */
void aj_lib_session_interrupted(agentjail_session *session);

/* tools.c */
void aj_lib_tools_copy(struct aj_lib_tools *to, const struct aj_lib_tools *from);
/* Queue a call for aj_lib_tools_run(); an aj_session_events.call. */
void aj_lib_tools_on_call(struct aj_session *inner, void *session, uint64_t number, const char *tool, const json_t *args);
void aj_lib_tools_free(struct aj_lib_tools *tools);
int aj_lib_tools_declare(const struct aj_lib_tools *tools, struct aj_session *inner, struct aj_error *err);
/* Run one tool that was called in this handle; false when none was. */
bool aj_lib_tools_run(agentjail *handle);
void aj_lib_calls_drop(agentjail_session *session);

/* branch.c: aj_session_events.checkpointed and .rolled_back */
void aj_lib_on_branched(struct aj_session *inner, void *session, uint64_t id, const struct aj_error *err);

/* result.c: takes the reference. */
agentjail_result *aj_lib_result(json_t *doc);

/* options.c */
/* Copy a struct of the caller's, whose first member says how large it is there: what he does not know is zero, what we do not know
 * must be. -1 with err. */
int aj_lib_take(void *ours, size_t our_bytes, const void *theirs, const char *name, struct aj_error *err);
/* Give `err` to the caller, who may not want it. Always -1. */
int aj_lib_refuse(const struct aj_error *err, struct agentjail_error *ret);
