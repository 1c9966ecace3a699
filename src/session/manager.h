/* The base of the service and the library: a policy cache that follows file changes, a pool of jails for each policy and tenant,
 * and sessions. One event loop, no threads; no call blocks. */
#pragma once
#include <jansson.h>

#include "base/loop/loop.h"
#include "policy/load/for_request.h"
#include "policy/plan/snippet.h"

struct aj_manager;
struct aj_buffer;
struct aj_result;
struct aj_session;

struct aj_manager_config {
	const char *site;   /* the site's configuration, as --config names it; NULL: the default */
	const char *rootfs; /* folder of the Python tree; NULL: searched as `exec` does */
	const char *cgroup; /* a delegated cgroup; NULL: look for one */
	unsigned parked;    /* jails kept ready per pool */
	unsigned jails_max; /* alive per pool, parked ones included; 0: no limit */
	unsigned pools_max; /* pools (policy and tenant) at a time: a new pool replaces the least recently used; 0: no limit */
	unsigned ready_ms;  /* for a zygote's imports; 0: a minute */
	uint64_t idle_ms, lifetime_ms; /* of a session; 0: no limit */
	/* Errors that no caller gets: one line. May be NULL. */
	void (*log)(void *arg, const char *line);
	void *log_arg;
	/* A limit from an option that this host does not enforce, or not exactly: one line, with the policy's first jail. May be
	 * NULL. */
	void (*unenforced)(void *arg, const char *policy, const char *line);
	void *unenforced_arg;
};

/* NULL with err. */
struct aj_manager *aj_manager_new(struct aj_loop *loop, const struct aj_manager_config *config, struct aj_error *err);
/* End every jail, now. Sessions must have been closed. */
void aj_manager_free(struct aj_manager *manager);

/* Serve one more policy as `name` (NULL: the policy's own name), the default if it is the first. Reads the policy now; -1 with
 * err (the first finding) when it does not load. `ask` and all that it points to must outlive the manager. A change of the
 * policy's files, of those it extends, or of the site's has the policy read again; if that fails, opening a session fails. */
int aj_manager_add_policy(struct aj_manager *manager, const struct aj_ask *ask, const char *name, struct aj_error *err);

size_t aj_manager_policies(const struct aj_manager *manager);
const char *aj_manager_policy_name(const struct aj_manager *manager, size_t index);

/* Of all pools. */
struct aj_manager_counts {
	uint64_t jails; /* alive, parked ones included */
	uint64_t parked, starting, waiting, zygotes, zygote_deaths, births, failures;
};
void aj_manager_count(const struct aj_manager *manager, struct aj_manager_counts *ret);
/* The same as JSON, with a list of the pools: {"jails":n,...,"pools":[{"policy","tenant","parked",...}]} (new reference). */
json_t *aj_manager_stats(const struct aj_manager *manager);

/* --- sessions: a jail that has an owner; a single snippet is a session too, closed after its answer --- */

struct aj_session_params {
	const char *policy;    /* a name that was added; NULL: the default */
	const char *tenant;    /* "" or NULL: the unnamed one. Two tenants never share a zygote */
	const char *workspace; /* host folder, for a policy that has one; such jails start cold. NULL: none */
	/* The session can be forked, and rolled back to checkpoints; `enforced` in results has the different walls. Not with a
	 * writable host folder, nor where no zygote can make the jail. */
	bool branching;
	/* Keys of the Python layer that this session asks for in place of the policy's; copied. */
	struct aj_python_ask python;
};

/* The one thing that a session does at a time. */
enum aj_session_state {
	AJ_SESSION_WAITING, /* for a jail */
	AJ_SESSION_OPENING, /* `opened` is about to be reported */
	AJ_SESSION_IDLE,
	AJ_SESSION_RUNNING, /* a snippet */
	AJ_SESSION_COPYING, /* a fork or a checkpoint is being made of it */
	AJ_SESSION_ROLLING, /* back to a checkpoint */
	AJ_SESSION_ENDED,   /* it has no jail, and waits for none */
	AJ_SESSION_CLOSED,
};

/* All callbacks come from the loop, none after aj_session_close(), which each of them may call. */
struct aj_session_events {
	/* The jail is ready; or err, and the session can only be closed. */
	void (*opened)(struct aj_session *session, void *arg, const struct aj_error *err);
	/* Output as it comes; NULL: not wanted. */
	void (*output)(struct aj_session *session, void *arg, int number, const char *data, size_t bytes);
	/* The snippet calls a tool, checked against its schema: answer with aj_session_tool_...(). `args` is borrowed. */
	void (*call)(struct aj_session *session, void *arg, uint64_t call, const char *tool, const json_t *args);
	/* The run begins to wait for tools, or ceases to: also from within aj_session_close(). May be NULL. */
	void (*waits)(struct aj_session *session, void *arg, bool waits);
	/* The run is over. `text` is `result` as JSON; both are borrowed, but the receiver may take the text and leave it
	 * empty. */
	void (*answered)(struct aj_session *session, void *arg, const struct aj_result *result, struct aj_buffer *text);
	/* The session's jail is gone, after `answered` when a run was under way. `why`: one line. */
	void (*ended)(struct aj_session *session, void *arg, const char *why);
	/* The checkpoint is ready; or err, and its id is void. May be NULL. */
	void (*checkpointed)(struct aj_session *session, void *arg, uint64_t id, const struct aj_error *err);
	/* The session was rolled back; or err, and the session is unchanged. May be NULL. */
	void (*rolled_back)(struct aj_session *session, void *arg, uint64_t id, const struct aj_error *err);
};

/* NULL with err when the parameters are invalid. `opened` follows later. */
struct aj_session *aj_session_open(struct aj_manager *manager, const struct aj_session_params *place,
                                   const struct aj_session_events *events, void *arg, struct aj_error *err);
/* Declare tools (docs/reference/tools.md), or replace those of the same name, from the next run on. -1 with err: no change. */
int aj_session_tools(struct aj_session *session, const json_t *list, struct aj_error *err);
/* Begin a run; one at a time, and not before `opened`. The snippet's `last`: at its timeout the jail is killed, not the snippet
 * interrupted. -1 with err: nothing has begun. */
int aj_session_run(struct aj_session *session, const struct aj_snippet *snippet, struct aj_error *err);
/* An id for the result of a snippet that was not started. */
const char *aj_session_new_id(struct aj_arena *arena);
void aj_session_interrupt(struct aj_session *session);
/* Of an open session: the members that each of its results repeats, `enforced` and `policy` (new reference). */
json_t *aj_session_constants(struct aj_session *session);
/* Files at and below /tmp, /input and /output, also while a snippet runs; see jail/files/scratch_files.h. NULL, -1 with err. */
json_t *aj_session_read_file(struct aj_session *session, const char *path, uint64_t offset, uint64_t bytes, struct aj_error *err);
ssize_t aj_session_read_bytes(struct aj_session *session, const char *path, uint64_t offset, void *buffer, size_t bytes,
                              struct aj_error *err);
json_t *aj_session_list_files(struct aj_session *session, const char *path, struct aj_error *err);
int aj_session_remove_file(struct aj_session *session, const char *path, struct aj_error *err);
/* Answer a call: with a value, checked against the tool's `returns` (-1 with err, and the call stays pending), or with an error.
 * A call that is no longer pending (timeout, end of the run) is -1 too, with AJ_REASON_CLOSED. */
int aj_session_tool_value(struct aj_session *session, uint64_t call, const json_t *value, struct aj_error *err);
int aj_session_tool_error(struct aj_session *session, uint64_t call, const char *type, const char *message, struct aj_error *err);
/* --- branches: for a session opened with `branching`, and while it runs nothing ("busy" else) ---
 *
 * A branch has a copy of the session's memory, scratch space and open files, under the same walls, and shares one set of limits
 * with its fork group. Descriptors that cannot be duplicated, such as sockets between its own threads, are closed in the branch;
 * running threads or shared mappings make a branch fail. Random number generators are reseeded in the branch only. */

/* Fork: a session that continues from this one's state and outlives it; `opened` follows later, for the fork. NULL with err. */
struct aj_session *aj_session_fork(struct aj_session *session, const struct aj_session_events *events, void *arg,
                                   struct aj_error *err);
/* Checkpoint the session's state: an id that is valid for the session and all forks of its lineage, 0 with err. `checkpointed`
 * follows later; until then the session runs nothing. aj_session_forget() frees the checkpoint, or the end of the lineage's last
 * open session with lifetime left. */
uint64_t aj_session_checkpoint(struct aj_session *session, struct aj_error *err);
/* Continue from a checkpoint, which stays: also a session that has ended, for example because a snippet was killed. `rolled_back`
 * follows later. -1 with err. */
int aj_session_rollback(struct aj_session *session, uint64_t id, struct aj_error *err);
/* Free a checkpoint; -1: there is none. */
int aj_session_forget(struct aj_session *session, uint64_t id, struct aj_error *err);

/* End the jail and free the session. */
void aj_session_close(struct aj_session *session);

enum aj_session_state aj_session_state(const struct aj_session *session);
/* A rollback may bring the session back, should it have ended: it was opened for branching, and its lifetime continues. */
bool aj_session_may_return(const struct aj_session *session);
bool aj_session_warm(const struct aj_session *session); /* born from a zygote */
