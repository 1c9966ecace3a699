/* Private to the library, and to `agentjail session`, its one user in the program. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "base/error.h"
#include "jail/result/result.h"
#include "session/manager.h"

/* The one header whose functions a shared library exports. */
#pragma GCC visibility push(default)
#include "lib/agentjail.h"
#pragma GCC visibility pop

/* A tool and its function, shared by several sets. */
struct aj_lib_tool {
	unsigned references;
	json_t *declaration;
	const char *name; /* in the declaration */
	char *(*call)(void *arg, const char *args_json, char **error);
	void *arg;
};

struct aj_lib_tools {
	struct aj_lib_tool **items;
	size_t count;
};

/* A call that waits for its tool to be run, outside of the loop. */
struct aj_lib_call {
	STAILQ_ENTRY(aj_lib_call) queued;
	uint64_t number;
	struct aj_lib_tool *tool;
	char *args; /* as text, which takes a fraction of the tree's memory */
};

struct agentjail {
	long thread; /* the owner's thread id, unique on the host */
	struct aj_arena arena;
	struct aj_loop *loop;
	struct aj_manager *manager;
	struct aj_ask ask;
	const char *tenant, *workspace;
	struct aj_lib_tools tools; /* for future sessions */
	LIST_HEAD(, agentjail_session) sessions;
	struct aj_io wake; /* an eventfd: some session has an interrupt */
	int wake_fd;
	void (*log)(void *arg, const char *line);
	void *log_arg;
	bool keep_values;           /* of every snippet, in its session's variable _ */
	bool in_callback;           /* inside an output or log callback */
	unsigned entered;           /* depth of blocking calls, nested through tools */
	agentjail_session *awaited; /* by the innermost of them */
	bool unseen; /* a run of another session has ended in a blocking call, and no agentjail_turn() was called since */
};

struct agentjail_session {
	agentjail *handle;
	LIST_ENTRY(agentjail_session) listed;
	struct aj_session *inner; /* NULL: closed */
	struct aj_lib_tools tools;
	struct aj_error open_error;
	char why[560]; /* reason of the end; "": it has not ended */
	int interrupt; /* set from any thread or signal handler */
	unsigned entered;
	struct aj_error branch_error;

	/* A run: asked for, perhaps before the jail is ready; then it has either result or error. */
	bool asked;
	struct aj_arena arena; /* of the snippet */
	struct aj_snippet snippet;
	json_t *files; /* of the snippet, until it begins */
	void (*output)(void *arg, int number, const char *data, size_t bytes);
	void *output_arg;
	agentjail_result *result;
	struct aj_error error;
	STAILQ_HEAD(, aj_lib_call) calls;
};

/* handle.c. `ask` and `config` must outlive the handle. */
agentjail *aj_lib_open(const struct aj_manager_config *config, const struct aj_ask *ask, const char *tenant,
                       const char *workspace, struct aj_error *err);

/* api_session.c */
/* The caller's struct as the session manager takes it; what it points to stays the caller's. -1 with err. */
int aj_lib_take_python(struct aj_python_ask *ret, const struct agentjail_python *theirs, struct aj_error *err);
/* `place`: without policy and tenant, which are the handle's. */
agentjail_session *aj_lib_session_open(agentjail *handle, const struct aj_session_params *place, struct aj_error *err);
agentjail_session *aj_lib_session_fork(agentjail_session *session, struct aj_error *err);
/* Wait until the session is open; -1 with err: it failed, and was closed. */
int aj_lib_session_await(agentjail_session *session, struct aj_error *err);
enum aj_session_state aj_lib_state(const agentjail_session *session);
/* A fork, a checkpoint or a rollback is under way. */
bool aj_lib_branching(const agentjail_session *session);
/* Can the session run a snippet now, or say why not? */
bool aj_lib_is_open(const agentjail_session *session);

/* api_snippet.c: begin the run that was asked for while the session had no jail; end a run, with a result or an error. */
void aj_lib_run_begin(agentjail_session *session);
void aj_lib_run_finish(agentjail_session *session, agentjail_result *result, const struct aj_error *err);
/* agentjail_interrupt() was called. */
void aj_lib_session_interrupted(agentjail_session *session);

/* More is a mistake of the caller's, such as the -1 of a read() that failed; it must not be read. */
#define AJ_LIB_BYTES_MAX (SIZE_MAX / 4)
/* api_files.c: the caller's files as the session manager takes them, NULL for none. -1 with err. */
int aj_lib_files(const struct agentjail_file *files, size_t count, json_t **ret, struct aj_error *err);

/* api_tools.c */
void aj_lib_tools_copy(struct aj_lib_tools *to, const struct aj_lib_tools *from);
/* Queue a call for aj_lib_tools_run(); an aj_session_events.call. */
void aj_lib_tools_on_call(struct aj_session *inner, void *session, uint64_t number, const char *tool, const json_t *args);
void aj_lib_tools_free(struct aj_lib_tools *tools);
int aj_lib_tools_declare(const struct aj_lib_tools *tools, struct aj_session *inner, struct aj_error *err);
/* Run one pending tool of this handle, which may close its session. The session; NULL: no tool is pending. */
agentjail_session *aj_lib_tools_run(agentjail *handle);
void aj_lib_calls_drop(agentjail_session *session);

/* api_result.c */
struct agentjail_result {
	enum aj_status status;
	int signal;            /* 0: no signal ended the code */
	char *text;            /* the result as JSON */
	size_t bytes;          /* of `text` */
	json_t *doc;           /* the same as a tree; NULL: not asked for yet */
	AJ_LIST(char *) parts; /* texts of agentjail_result_get() */
	struct aj_arena arena; /* of `parts` */
};
/* `text`: taken, and left empty. */
agentjail_result *aj_lib_result(const struct aj_result *result, struct aj_buffer *text);
/* The result as a tree; borrowed. */
const json_t *aj_lib_result_tree(agentjail_result *result);

/* turn.c */
void aj_lib_session_free(agentjail_session *session);
/* One turn of the loop, then the pending tools. */
int aj_lib_turn(agentjail *handle, int64_t until_us, struct aj_error *err);
/* Turns while `waits` is true of this session, which is not freed here, even if a tool has closed it. Runs of other sessions that
 * end meanwhile make agentjail_fd() readable. err: errors of the loop. */
void aj_lib_await(agentjail_session *session, bool (*waits)(const agentjail_session *session), struct aj_error *err);
/* Make agentjail_fd() readable until the next turn; errno stays. */
void aj_lib_wake(const agentjail *handle);

/* entry.c */
/* Check that this call is allowed. -1 with err: another thread, another process, or inside an output or log callback. */
int aj_lib_enter(const agentjail *handle, struct aj_error *err);
/* The same for a call that needs an open session in which nothing runs. */
int aj_lib_enter_session(const agentjail_session *session, struct aj_error *err);
/* Copy a struct of the caller's, whose first member is its size: missing fields become zero, unknown fields must be zero. -1 with
 * err. */
int aj_lib_take(void *ours, size_t our_bytes, const void *theirs, const char *name, struct aj_error *err);
/* Copy `err` to the caller's struct, which may be NULL. Always -1. */
int aj_lib_refuse(const struct aj_error *err, struct agentjail_error *ret);
