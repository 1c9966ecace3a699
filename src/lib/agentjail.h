/* libagentjail: Python that an AI agent wrote, run in a jail by the kernel's walls, from C.
 *
 * One handle, one thread: every call comes from the thread that opened the handle (agentjail_interrupt() alone may come from
 * anywhere), and the jails end with that thread. After fork() the handle is the parent's; in the child every call refuses.
 * Nothing here prints, exits, changes the environment, installs a handler or leaves a signal mask changed. docs/library.md has
 * the rest. All text is UTF-8. */
#ifndef AGENTJAIL_H
#define AGENTJAIL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTJAIL_API_VERSION 1

/* The library's version, as in "0.1.0". */
const char *agentjail_version(void);

/* Why a call failed: which step, the cause in one line, and what helps ("" when the cause says it all). */
struct agentjail_error {
	int code;         /* as `agentjail exec` would exit: 2 bad input, 125 no jail could be built; 0: no error */
	int system_error; /* errno of the failing system call, 0 without one */
	char step[32];
	char cause[600]; /* with the text of system_error */
	char fix[600];
};

typedef struct agentjail agentjail;
typedef struct agentjail_session agentjail_session;
typedef struct agentjail_result agentjail_result;

/* --- a handle: a policy, a tenant, and jails that are kept ready --- */

/* What is zero is as documented here; `.size = sizeof options` always. The structs of this header grow at their end only. */
struct agentjail_options {
	size_t size;
	const char *policy;          /* a name of `agentjail policy list`; NULL: the site's for snippets */
	const char *policy_file;     /* or a file */
	const char *config;          /* a site's configuration, where there is no /etc/agentjail/agentjail.toml */
	const char *const *settings; /* "limits.memory=256M", keys of agentjail.toml(5), within what the site lets; ends with NULL */
	const char *tenant;          /* two tenants never share a process that jails are born from; NULL: the unnamed one */
	const char *rootfs;          /* folder of the Python tree; NULL: $AGENTJAIL_ROOTFS, else installed beside the library */
	const char *workspace;       /* host folder, for a policy that has a workspace; jails then start cold */
	const char *cgroup;          /* a delegated cgroup v2 folder; NULL: one is looked for */
	unsigned parked;             /* jails kept ready; 0: none, each is born when it is asked for */
	unsigned jails_max;          /* alive at a time, checkpoints and parked ones included: then step "busy"; 0: no limit */
	uint64_t idle_ms;            /* a session that nobody used for this long ends; 0: no limit */
	uint64_t lifetime_ms;        /* as long as a session lives, and what it keeps; 0: no limit */
	/* What goes wrong in the background, such as a birth that is tried again; from any call. Of this header it may call
	 * agentjail_interrupt() only. */
	void (*log)(void *arg, const char *line);
	void *log_arg;
};

/* NULL with *err (err may be NULL in every call). */
agentjail *agentjail_open(const struct agentjail_options *options, struct agentjail_error *err);
/* End every jail, and close all sessions that are still open. */
void agentjail_close(agentjail *handle);

/* --- tools: functions of yours that the code may call --- */

struct agentjail_tool {
	size_t size;
	const char *name, *description;
	const char *parameters; /* JSON Schema of an object (docs/tools.md: which part of it); NULL: no parameters */
	const char *returns;    /* JSON Schema; NULL: anything */
	int is_async;           /* inside it is a coroutine function */
	uint64_t timeout_ms;    /* 0: a minute */
	size_t result_bytes;    /* 0: 1 MiB */
	/* Called by the call that runs the snippet, with arguments that fit `parameters`. The value as JSON, or NULL and the message
	 * of the exception that the code inside gets in *error (NULL there as well: it returns None). Both from malloc(), freed by
	 * us. It may run other sessions of the handle; until it returns no clock of the handle is looked at. */
	char *(*call)(void *arg, const char *args_json, char **error);
	void *arg;
};

/* Declare one for the sessions and runs that begin from now on, or replace the one of that name. -1 with *err. */
int agentjail_add_tool(agentjail *handle, const struct agentjail_tool *tool, struct agentjail_error *err);
/* For one session, from its next run on. */
int agentjail_session_add_tool(agentjail_session *session, const struct agentjail_tool *tool, struct agentjail_error *err);

/* --- running --- */

struct agentjail_snippet {
	size_t size;
	const char *code;
	size_t code_bytes;     /* 0: up to its NUL */
	const char *filename;  /* in errors; NULL: <snippet> */
	const char *variables; /* JSON object, set before it runs; NULL: none */
	const char *id;        /* in the result; NULL: one is made */
	uint64_t timeout_ms;   /* 0: as the policy says */
	/* What it prints, as it comes, by fd number (1 or 2); it is in the result as well. Of this header it may call
	 * agentjail_interrupt() only. */
	void (*output)(void *arg, int number, const char *data, size_t bytes);
	void *output_arg;
};

/* One snippet in a jail of its own that nobody used before. NULL with *err when nothing ran; whatever else happened is in the
 * result. */
agentjail_result *agentjail_run(agentjail *handle, const struct agentjail_snippet *snippet, struct agentjail_error *err);

struct agentjail_session_options {
	size_t size;
	const char *workspace; /* in place of the handle's */
	int no_wait;           /* return before the jail is there; what then goes wrong is the first run's error */
	int branching;         /* it can be forked and rolled back; "enforced" in results says which walls differ for that */
};

/* A jail that is kept from run to run, with its variables. `options` may be NULL. NULL with *err. */
agentjail_session *agentjail_session_open(agentjail *handle, const struct agentjail_session_options *options,
                                          struct agentjail_error *err);
agentjail_result *agentjail_session_run(agentjail_session *session, const struct agentjail_snippet *snippet, struct agentjail_error *err);
/* Set variables, a JSON object. -1 with *err. */
int agentjail_session_set(agentjail_session *session, const char *variables, struct agentjail_error *err);
/* 1 as long as it can run something. */
int agentjail_session_alive(const agentjail_session *session);
/* Have the snippet under way stop, as Ctrl-C would; the session lives on. Without effect when none runs. May be called from
 * any thread and from signal handlers, until agentjail_session_close(). */
void agentjail_interrupt(agentjail_session *session);
void agentjail_session_close(agentjail_session *session);

/* --- branches of a session that was opened with `.branching`, and that runs nothing --- */

/* Two sessions that go on from here, each its own way: memory, open files and scratch space are copied. Threads and shared memory
 * cannot be, and then there is no branch. NULL with *err. */
agentjail_session *agentjail_session_fork(agentjail_session *session, struct agentjail_error *err);
/* Keep what the session is now; an id, good for it and all its forks, or 0 with *err. */
uint64_t agentjail_session_checkpoint(agentjail_session *session, struct agentjail_error *err);
/* Go back to it, as often as one likes, also when the session has ended since. -1 with *err: it is as it is. */
int agentjail_session_rollback(agentjail_session *session, uint64_t checkpoint, struct agentjail_error *err);
int agentjail_session_forget(agentjail_session *session, uint64_t checkpoint, struct agentjail_error *err);

/* --- results --- */

enum agentjail_status {
	AGENTJAIL_OK,
	AGENTJAIL_ERROR,    /* the code raised */
	AGENTJAIL_REJECTED, /* refused by the import check: nothing of it ran */
	AGENTJAIL_TIMEOUT,
	AGENTJAIL_OOM,
	AGENTJAIL_LIMIT, /* output, processes, files, disk */
	AGENTJAIL_SIGNAL,
	AGENTJAIL_PROTOCOL_ERROR, /* the jail said something that is no result */
	AGENTJAIL_SETUP_ERROR,    /* a wall could not be built: nothing ran */
	AGENTJAIL_UNKNOWN = -1    /* by a newer library */
};

enum agentjail_status agentjail_result_status(const agentjail_result *result);
/* The whole of it, one JSON object as `agentjail exec --json` prints it, with "session": "alive" or "ended". */
const char *agentjail_result_json(const agentjail_result *result);
/* One part: "value", "stdout", "error.message", "errors.0.line", "usage.peak_memory". Text as it is, everything else as JSON; NULL
 * when it is not there or null. Valid as long as the result. */
const char *agentjail_result_get(agentjail_result *result, const char *path);
void agentjail_result_free(agentjail_result *result);

/* Jails alive, parked, waited for: a JSON object, for agentjail_free(). */
char *agentjail_stats(agentjail *handle, struct agentjail_error *err);
void agentjail_free(char *text);

/* --- in an event loop of yours: nothing below waits but agentjail_turn(), as long as it is told --- */

/* Readable when a turn has something to do. It stays the same as long as the handle. */
int agentjail_fd(const agentjail *handle);
/* Milliseconds until a turn is due even if it is not; -1: never. */
int agentjail_due_ms(const agentjail *handle);
/* See to what is ready, after waiting for it at most `wait_ms` (0: not at all, -1: as long as it takes). Output and tools are
 * called from here. -1 with *err. */
int agentjail_turn(agentjail *handle, int wait_ms, struct agentjail_error *err);
/* Begin a run; the snippet is copied. -1 with *err. */
int agentjail_session_start(agentjail_session *session, const struct agentjail_snippet *snippet, struct agentjail_error *err);
/* 1 while one is under way; 0 when agentjail_session_take() has something to give. */
int agentjail_session_busy(const agentjail_session *session);
/* What became of it: once, then and while it is under way NULL with *err. */
agentjail_result *agentjail_session_take(agentjail_session *session, struct agentjail_error *err);

#ifdef __cplusplus
}
#endif
#endif
