/* libagentjail: runs Python code of AI agents in jails that the kernel enforces, from C.
 *
 * One handle, one thread: every call must come from the thread that opened the handle (except agentjail_interrupt()), and the
 * jails end with that thread. After fork() the handle is the parent's; in the child every call fails. No function prints, exits,
 * changes the environment, installs a signal handler or leaves a signal mask changed. docs/reference/library.md has the rest.
 * All text is UTF-8. */
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

/* Why a call failed: the step, the cause in one line, and a fix ("" when the cause says it all). */
struct agentjail_error {
	int code; /* exit status of `agentjail exec` for this error: 2 bad input, 125 no jail could be built; 0: no error */
	int system_error; /* errno of the failing system call, 0 without one */
	char step[32];
	char cause[600]; /* includes the text of system_error */
	char fix[600];
};

typedef struct agentjail agentjail;
typedef struct agentjail_session agentjail_session;
typedef struct agentjail_result agentjail_result;

/* --- a handle: a policy, a tenant, and a pool of jails --- */

/* Zero fields have the defaults given here; always set `.size = sizeof options`. The structs of this header grow at their end
 * only. */
struct agentjail_options {
	size_t size;
	const char *policy;      /* a name of `agentjail policy list`; NULL: the site's for snippets */
	const char *policy_file; /* or a policy file */
	const char *config;      /* a site's configuration, where there is no /etc/agentjail/agentjail.toml */
	const char *const
	    *settings;         /* "limits.memory=256M", keys of agentjail.toml(5), within the site's limits; NULL at the end */
	const char *tenant;    /* two tenants never share a zygote; NULL: the unnamed tenant */
	const char *rootfs;    /* folder of the Python tree; NULL: $AGENTJAIL_ROOTFS, else installed beside the library */
	const char *workspace; /* host folder, for a policy that has a workspace; jails then start cold */
	const char *cgroup;    /* a delegated cgroup v2 folder; NULL: look for one */
	unsigned parked;       /* jails kept ready; 0: none, each is made on request */
	unsigned jails_max; /* jails alive at a time, checkpoints and parked ones included: beyond it step "busy"; 0: no limit */
	uint64_t idle_ms;   /* an unused session ends after this time; 0: no limit */
	uint64_t lifetime_ms; /* lifetime of a session and its checkpoints; 0: no limit */
	/* Background errors, such as a birth that is retried; called from within any call. The callback may call only
	 * agentjail_interrupt() of this header. */
	void (*log)(void *arg, const char *line);
	void *log_arg;
};

/* NULL with *err (err may be NULL in every call). */
agentjail *agentjail_open(const struct agentjail_options *options, struct agentjail_error *err);
/* Close all open sessions, end every jail, and free the handle. */
void agentjail_close(agentjail *handle);

/* --- tools: functions of the caller's that the code may call --- */

struct agentjail_tool {
	size_t size;
	const char *name, *description;
	const char *parameters; /* JSON Schema of an object (docs/reference/tools.md: which part of it); NULL: no parameters */
	const char *returns;    /* JSON Schema; NULL: anything */
	int is_async;           /* the code sees a coroutine function */
	uint64_t timeout_ms;    /* 0: a minute */
	size_t result_bytes;    /* 0: 1 MiB */
	/* Called from within the call that runs the snippet, with arguments that fit `parameters`. Returns the value as JSON; or
	 * NULL with the message of the code's exception in *error (NULL too: the code gets None). Both from malloc(); the library
	 * frees them. The tool may run other sessions of the handle; until it returns no deadline of the handle is checked. */
	char *(*call)(void *arg, const char *args_json, char **error);
	void *arg;
	int reserved;         /* a snippet that gives the name another meaning is rejected */
	const char *variadic; /* the property of `parameters` that takes all further positional arguments; NULL: none */
};

/* Declare a tool for the sessions and runs that begin from now on, or replace the tool of that name. -1 with *err. */
int agentjail_add_tool(agentjail *handle, const struct agentjail_tool *tool, struct agentjail_error *err);
/* Declare a tool for one session, from its next run on. */
int agentjail_session_add_tool(agentjail_session *session, const struct agentjail_tool *tool, struct agentjail_error *err);

/* --- running --- */

/* The Python layer of one session or run in place of the policy's: stricter at will, looser as far as the policy's section
 * [requests] allows (a jail made in advance can be used too). NULL: the policy's. */
struct agentjail_python {
	size_t size;
	const char *const *imports;  /* "json", "numpy.*" with its submodules, "*"; NULL at the end. An empty list allows none */
	const char *imports_checked; /* "before" or "run" */
	const char *builtins;        /* "minimal", "static", "standard" or "full" */
	const char *layer;           /* "on" or "off" */
	const char *clock;           /* of time and datetime: "real", "2026-01-01T00:00:00Z", "+24h" or "-90s" */
	const char *sleep_max;       /* longest time.sleep(): "100ms" */
};

/* A file for the jail, written by the jail itself before the code runs. */
struct agentjail_file {
	const char *name; /* below /input, where a file cannot be opened for writing; or a path below /input, /output or /tmp */
	const void *data;
	size_t bytes;
	const char *path; /* in place of data: a file of the host, read at once with the caller's rights */
};

enum { AGENTJAIL_OUTPUT_LIST = 1, AGENTJAIL_OUTPUT_DATA = 2 };

struct agentjail_snippet {
	size_t size;
	const char *code;
	size_t code_bytes;     /* 0: strlen(code) */
	const char *filename;  /* in errors; NULL: <snippet> */
	const char *variables; /* JSON object, set before it runs; NULL: none */
	const char *id;        /* in the result; NULL: generated */
	uint64_t timeout_ms;   /* the snippet is told to stop then, and its jail killed a second later; 0: the policy's */
	/* Output as it comes, by fd number (1 or 2); the result has it as well. The callback may call only agentjail_interrupt()
	 * of this header. */
	void (*output)(void *arg, int number, const char *data, size_t bytes);
	void *output_arg;
	int value_of_statement; /* a last statement that is an assignment, or a block in which one ran last, has a value too */
	int handles;            /* a value that cannot cross stays inside and its name crosses, see docs/reference/values.md */
	const struct agentjail_python *python; /* for agentjail_run() alone, as a session has its own; NULL: the policy's */
	const struct agentjail_file *files;    /* copied */
	size_t files_count;
	int output_files; /* AGENTJAIL_OUTPUT_LIST: "files" lists what the run made or changed in /output; _DATA: with bytes */
	int for_model; /* the result has "for_model", a text for a model, at most 2000 bytes: what happened, where, what to do */
	int brief;     /* leave out what each result of the handle repeats ("enforced", "policy") and members that say nothing */
	const uint32_t *seed;   /* for `random` and numpy.random's older functions, until the next seed; NULL: kernel entropy */
	const char *stdin_text; /* at most 16 MiB of UTF-8, which sys.stdin and input() read in this run; NULL: it is empty */
};

/* Run one snippet in a fresh jail of its own. NULL with *err when nothing ran; anything else is in the result. */
agentjail_result *agentjail_run(agentjail *handle, const struct agentjail_snippet *snippet, struct agentjail_error *err);

struct agentjail_session_options {
	size_t size;
	const char *workspace; /* instead of the handle's */
	int no_wait;           /* return before the jail is ready; an error then comes with the first run */
	int branching; /* the session can be forked and rolled back; "enforced" in results says which walls differ for that */
	const struct agentjail_python *python; /* NULL: the policy's */
};

/* Open a session: a jail that keeps its variables from run to run. `options` may be NULL. NULL with *err. */
agentjail_session *agentjail_session_open(agentjail *handle, const struct agentjail_session_options *options,
                                          struct agentjail_error *err);
agentjail_result *agentjail_session_run(agentjail_session *session, const struct agentjail_snippet *snippet,
                                        struct agentjail_error *err);
/* Set variables, a JSON object. -1 with *err. */
int agentjail_session_set(agentjail_session *session, const char *variables, struct agentjail_error *err);
/* Read a variable, without running any code but the value's own __repr__ and __str__: a result with its "value", "repr" and
 * "type", or the error of a NameError. NULL with *err. */
agentjail_result *agentjail_session_get(agentjail_session *session, const char *name, struct agentjail_error *err);
/* List the variables: a result whose "value" is an array of {"name", "type", "repr", "len"}. NULL with *err. */
agentjail_result *agentjail_session_vars(agentjail_session *session, struct agentjail_error *err);
/* Write files in the session. -1 with *err. */
int agentjail_session_write_files(agentjail_session *session, const struct agentjail_file *files, size_t count,
                                  struct agentjail_error *err);
/* Read a part of a regular file below /tmp, /input or /output, also while a snippet runs: the number of bytes, 0 at or after the
 * file's end; -1 with *err. No symlink is followed. */
int64_t agentjail_session_read_file(agentjail_session *session, const char *path, uint64_t offset, void *buffer, size_t bytes,
                                    struct agentjail_error *err);
/* List such a folder: "files", an array of {"name", "type", "size"}, of 1,000 at most, and "truncated". NULL with *err. */
agentjail_result *agentjail_session_list_files(agentjail_session *session, const char *path, struct agentjail_error *err);
/* Remove a file, a link or an empty folder. -1 with *err. */
int agentjail_session_remove_file(agentjail_session *session, const char *path, struct agentjail_error *err);
/* 1 while the session can run snippets. */
int agentjail_session_alive(const agentjail_session *session);
/* Interrupt the snippet under way, as Ctrl-C would; the session continues. No effect when none runs. May be called from any
 * thread and from signal handlers, until agentjail_session_close(). */
void agentjail_interrupt(agentjail_session *session);
void agentjail_session_close(agentjail_session *session);

/* --- branches of a session that was opened with `.branching`, while it runs nothing --- */

/* Fork the session: memory, open files and scratch space are copied, and both continue independently. Fails with running threads
 * or shared memory. NULL with *err. */
agentjail_session *agentjail_session_fork(agentjail_session *session, struct agentjail_error *err);
/* Make a checkpoint: an id, valid for the session and all its forks, or 0 with *err. */
uint64_t agentjail_session_checkpoint(agentjail_session *session, struct agentjail_error *err);
/* Roll back to a checkpoint, any number of times, also after the session has ended. -1 with *err: the session is unchanged. */
int agentjail_session_rollback(agentjail_session *session, uint64_t checkpoint, struct agentjail_error *err);
int agentjail_session_forget(agentjail_session *session, uint64_t checkpoint, struct agentjail_error *err);

/* --- results --- */

enum agentjail_status {
	AGENTJAIL_OK,
	AGENTJAIL_ERROR,    /* the code raised an exception */
	AGENTJAIL_REJECTED, /* refused by the import check: no code ran */
	AGENTJAIL_TIMEOUT,
	AGENTJAIL_OOM,
	AGENTJAIL_LIMIT, /* output, processes, files, disk */
	AGENTJAIL_SIGNAL,
	AGENTJAIL_PROTOCOL_ERROR, /* the jail sent an invalid message */
	AGENTJAIL_SETUP_ERROR,    /* a wall could not be built: no code ran */
	AGENTJAIL_UNKNOWN = -1    /* from a newer library */
};

enum agentjail_status agentjail_result_status(const agentjail_result *result);
/* The whole result, one JSON object as `agentjail exec --json` prints it, with "session": "alive" or "ended". */
const char *agentjail_result_json(const agentjail_result *result);
/* One part of it: "value", "stdout", "error.message", "errors.0.line", "usage.peak_memory". Strings unchanged, everything else as
 * JSON; NULL when absent or null. Valid as long as the result. */
const char *agentjail_result_get(agentjail_result *result, const char *path);
/* The same with its length, for a string that may hold a NUL: to a reader of C strings it ends there. */
const char *agentjail_result_bytes(agentjail_result *result, const char *path, size_t *bytes);
void agentjail_result_free(agentjail_result *result);

/* Counts of jails (alive, parked, waited for): a JSON object, for agentjail_free(). */
char *agentjail_stats(agentjail *handle, struct agentjail_error *err);
void agentjail_free(char *text);

/* --- in the caller's event loop: none of these functions blocks, but agentjail_turn() for `wait_ms` --- */

/* Descriptor to poll: readable when agentjail_turn() has work, and when a run has ended during a call that waited for something
 * else. It stays the same. For level-triggered polling: a turn may leave events, so an edge-triggered loop calls agentjail_turn()
 * until the descriptor is not readable. */
int agentjail_fd(const agentjail *handle);
/* Milliseconds until agentjail_turn() is due for a deadline; -1: never. */
int agentjail_due_ms(const agentjail *handle);
/* Handle ready events, after waiting for them at most `wait_ms` (0: do not wait, -1: no limit). Calls output callbacks and tools.
 * -1 with *err. */
int agentjail_turn(agentjail *handle, int wait_ms, struct agentjail_error *err);
/* Begin a run; the snippet is copied. -1 with *err. */
int agentjail_session_start(agentjail_session *session, const struct agentjail_snippet *snippet, struct agentjail_error *err);
/* 1 while a run is under way; 0 when agentjail_session_take() has its result. */
int agentjail_session_busy(const agentjail_session *session);
/* The run's result, once; NULL with *err while the run is under way, and after the result was taken. */
agentjail_result *agentjail_session_take(agentjail_session *session, struct agentjail_error *err);

#ifdef __cplusplus
}
#endif
#endif
