/* What a service and the library have in common: policies that are read again when their files change, a pool of jails for each
 * policy and tenant, and sessions. One event loop, no threads; nothing here waits. */
#pragma once
#include <jansson.h>

#include "base/loop.h"
#include "policy/load.h"

struct aj_manager;
struct aj_session;

struct aj_manager_config {
	const char *site;              /* the site's configuration, as --config names it; NULL: as there is */
	const char *rootfs;            /* folder of the Python tree; NULL: found as `exec` finds it */
	const char *cgroup;            /* given; NULL to look for one */
	unsigned parked;               /* jails kept ready per pool */
	unsigned jails_max;            /* alive per pool, parked ones included; 0: no limit */
	unsigned pools_max;            /* pools (policy and tenant) at a time: the idlest gives way to a new one; 0: no limit */
	unsigned ready_ms;             /* that a zygote may take for what it imports; 0: a minute */
	uint64_t idle_ms, lifetime_ms; /* of a session; 0: no limit */
	/* What went wrong and is nobody's answer: one line. May be NULL. */
	void (*log)(void *arg, const char *lineage);
	void *log_arg;
};

/* NULL with err. */
struct aj_manager *aj_manager_new(struct aj_loop *loop, const struct aj_manager_config *config, struct aj_error *err);
/* End everything, now. Sessions must have been closed. */
void aj_manager_free(struct aj_manager *manager);

/* Serve one more policy, under `name` (the name it is asked for by; NULL: its own). Reads it now; -1 with err (the first finding)
 * when it does not load. The first one is the default. `ask` and all that it points to must stay as long as the house. Files are
 * read again whenever they, what they extend, or the site's own have changed; what does not load then is an error of whoever asks. */
int aj_manager_add_policy(struct aj_manager *manager, const struct aj_ask *ask, const char *name, struct aj_error *err);

size_t aj_manager_policies(const struct aj_manager *manager);
const char *aj_manager_policy_name(const struct aj_manager *manager, size_t index);

/* {"jails":n,"parked":n,"starting":n,"waiting":n,"zygotes":n,"pools":[{"policy","tenant","parked",...}]} (new reference). */
json_t *aj_manager_stats(const struct aj_manager *manager);
/* Jails alive, parked ones included. */
unsigned aj_manager_jails(const struct aj_manager *manager);

/* --- sessions: a jail that was given to somebody; one snippet alone is a session too, closed after its answer --- */

struct aj_session_params {
	const char *policy;    /* a name that was added; NULL: the default */
	const char *tenant;    /* "" or NULL: the unnamed one. Two tenants never share a zygote */
	const char *workspace; /* host folder, for a policy that has one; such a jail starts cold. NULL: none */
	/* The session can be forked, and rolled back to checkpoints; `enforced` says which walls differ for that. Not where the host's
	 * folders are written to. */
	bool branching;
};

/* All of them from the loop; none after aj_session_close(), which any of them may call. */
struct aj_session_events {
	/* A jail is there; or err, and then the session is only good for being closed. */
	void (*opened)(struct aj_session *session, void *arg, const struct aj_error *err);
	/* As it comes; NULL: not wanted. */
	void (*output)(struct aj_session *session, void *arg, int number, const char *data, size_t bytes);
	/* The snippet calls a tool, checked against its schema: answer with aj_session_tool_...(). `args` is borrowed. */
	void (*call)(struct aj_session *session, void *arg, uint64_t call, const char *tool, const json_t *args);
	/* The run is over. `result` is borrowed; result.session is "alive" or "ended". */
	void (*answered)(struct aj_session *session, void *arg, const json_t *result);
	/* The session's jail is gone, after `answered` when a run was under way. Why: one line. */
	void (*ended)(struct aj_session *session, void *arg, const char *why);
	/* A checkpoint is there, or err; it is good for nothing then. May be NULL. */
	void (*checkpointed)(struct aj_session *session, void *arg, uint64_t id, const struct aj_error *err);
	/* The session is as it was; or err, and it is as it is. May be NULL. */
	void (*rolled_back)(struct aj_session *session, void *arg, uint64_t id, const struct aj_error *err);
};

struct aj_snippet {
	const char *id;   /* goes into the result; NULL: one is made */
	const char *code; /* UTF-8; NULL: only set variables */
	size_t code_bytes;
	const char *filename;    /* NULL: <snippet> */
	const char *inputs_json; /* object, values may bear type tags; NULL: none */
	bool inputs_checked;     /* base/json_scan has found nothing wrong with them */
	uint64_t timeout_ms;     /* when the snippet is told to stop; 0: as the policy says */
	bool last;               /* the session is for this one: it is not told to stop, its jail is killed */
	bool lines;              /* output comes line by line: for somebody who watches, at the price of a system call each */
};

/* NULL with err when the place is unknown or unfit. `opened` is told later. */
struct aj_session *aj_session_open(struct aj_manager *manager, const struct aj_session_params *place,
                                   const struct aj_session_events *events, void *arg, struct aj_error *err);
/* Declare tools (docs/tools.md), or replace those of the same name; the next run knows them. -1 with err: nothing changed. */
int aj_session_tools(struct aj_session *session, const json_t *list, struct aj_error *err);
/* Begin a run; one at a time, and not before `opened`. -1 with err: nothing was begun. */
int aj_session_run(struct aj_session *session, const struct aj_snippet *snippet, struct aj_error *err);
void aj_session_interrupt(struct aj_session *session);
/* Answer a call: with a value, checked against the tool's `returns` (-1 with err, and the call still waits), or with an error.
 * A call that nobody waits for any more (timeout, end of the run) is -1 too. */
int aj_session_tool_value(struct aj_session *session, uint64_t call, const json_t *value, struct aj_error *err);
int aj_session_tool_error(struct aj_session *session, uint64_t call, const char *type, const char *message, struct aj_error *err);
/* --- branches: for a session whose place says `branching`, and while it runs nothing ("busy" else) ---
 *
 * A branch has a copy of the session's memory, of its scratch space and of its open files, under the same walls and, with all others of
 * its family, one set of limits. What cannot be had twice, as sockets between its own threads, is closed in it; with threads still
 * running or shared memory mapped there is no branch. Random numbers are seeded anew in the branch, not in the original. */

/* A session of its own, which goes on where this one is, whatever becomes of this one. `opened` is told later, for it. NULL with err. */
struct aj_session *aj_session_fork(struct aj_session *session, const struct aj_session_events *events, void *arg, struct aj_error *err);
/* Keep what the session is now: an id that is good for it and all forks of its family, 0 with err. `checkpointed` is told later; until then
 * the session runs nothing. What was kept goes with aj_session_forget(), or the last session of the family that is open and has lifetime left. */
uint64_t aj_session_checkpoint(struct aj_session *session, struct aj_error *err);
/* Go on from a checkpoint, which stays: also a session that has ended, as after a snippet that had to be killed. `rolled_back` is told
 * later. -1 with err. */
int aj_session_rollback(struct aj_session *session, uint64_t id, struct aj_error *err);
/* -1: there is none. */
int aj_session_forget(struct aj_session *session, uint64_t id, struct aj_error *err);

/* End the jail and forget the session. */
void aj_session_close(struct aj_session *session);

/* Its lifetime has ended: nothing brings it back. */
bool aj_session_over(const struct aj_session *session);
bool aj_session_running(const struct aj_session *session);
bool aj_session_warm(const struct aj_session *session); /* born from a zygote */
