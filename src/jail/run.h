/* One jail, watched: everything that can happen to it, as steps of whatever loop its owner has. A jail that lasts takes one
 * snippet after the other; any other has one, and its run is over when the jail is gone. */
#pragma once
#include <poll.h>

#include "jail/channel.h"
#include "jail/pump.h"
#include "mediate/locks.h"
#include "mediate/mediate.h"
#include "result/verdict.h"
#include "sandbox/launch.h"
#include "workspace/protect.h"

/* What is waited for, in the order in which it is seen to. */
enum aj_run_fd {
	AJ_RUN_REPORT,
	AJ_RUN_CONTROL,
	AJ_RUN_OUT,
	AJ_RUN_ERR,
	AJ_RUN_LISTENER,
	AJ_RUN_CONNECTOR,
	AJ_RUN_INIT,
	AJ_RUN_FDS
};

/* What a step found out, as bits. */
enum {
	AJ_RUN_ARMED = 1,    /* a lasting jail may be given its first snippet */
	AJ_RUN_ANSWERED = 2, /* live->result is whole: status, claims, output. A lasting jail takes the next one */
	AJ_RUN_GONE = 4,     /* the jail is gone and its fds are closed. When a run was under way, live->result is whole */
};

typedef void aj_output_fn(int fd /* 1 or 2 */, const char *data, size_t bytes, void *arg);

struct aj_fork_group;
struct aj_run;

/* What a run calls in the fork group that it belongs to; fork/group.c sets them. */
struct aj_run_group {
	/* The original has answered an order to fork. */
	void (*answered)(struct aj_fork_group *group, const struct aj_run *original);
	/* The run's process has ended: asks init for its exit status, and takes the run out of the group. */
	void (*on_exit)(struct aj_fork_group *group, struct aj_run *run);
	/* Is the listener of the filter, which the group's runs share, still open? */
	bool (*listens)(const struct aj_fork_group *group);
};

struct aj_run {
	/* The owner's, before aj_run_open(). */
	const struct aj_plan *plan;
	const struct aj_policy *policy;
	bool lasting;
	aj_output_fn *output; /* as it comes; may be NULL */
	void *output_arg;
	struct aj_pump *pump;       /* of standard output and error, for a plan that has such; NULL: none */
	struct aj_protect *protect; /* given to us: closed when the jail is gone. NULL without a writable workspace */
	/* One of its descriptors is about to be closed, and must not be watched any more: epoll would go on telling of it as long as
	 * another process has a copy. May be NULL: then nothing but poll() is in use. */
	void (*closing)(struct aj_run *run, enum aj_run_fd which);

	struct aj_mediator *mediator; /* of a command; open where the plan is mediated. NULL: none */
	struct aj_locks locks;        /* where the plan mediates them */
	struct aj_plan built;         /* in place of the caller's, once a folder of it is no overlay */

	/* One of several guests of one init, see fork/group.h; NULL: the only one. */
	struct aj_fork_group *fork_group;
	const struct aj_run_group *group;
	struct aj_run *next_of_group;
	pid_t inner_pid; /* as the jail numbers it */
	unsigned depth;  /* how many branches lie between it and the jail's first guest */

	struct aj_jail jail;
	struct aj_channel channel;
	struct aj_result result; /* of the run under way, or of the last one */
	struct aj_facts facts;
	int listener_fd;    /* reports what the filter refuses; -1: nobody listens */
	bool running, gone; /* a run is under way; the jail is gone */
	bool stopping;      /* it is being ended */
	int64_t started_us; /* the run */
	int64_t soft_us;    /* when the snippet is told to stop; INT64_MAX: never, or it was */
	uint64_t soft_ms;
	int64_t deadline_us; /* when everything is killed; INT64_MAX: never */
	/* What the jail had used, and been refused, before this run. */
	struct aj_leaf_usage leaf_before;
	uint64_t cpu_before_us;
};

/* Start watching a jail that was launched (`live->jail` is set). It must not move in memory any more. `filters`: see
 * aj_channel_open(). */
void aj_run_open(struct aj_run *run, int filters);

/* Begin a run: not before a lasting jail is armed, once for any other. `timeout_ms` (0: the policy's): where the request lasts, the
 * snippet is told to stop then, and has a moment for that before the jail is killed; elsewhere the jail is killed. -1 with err: then
 * nothing was begun. Frees what the last run left in live->result. */
int aj_run_begin(struct aj_run *run, const struct aj_request *request, uint64_t timeout_ms, int64_t started_us, struct aj_error *err);

/* A signal to a command, or one that ends a snippet and its jail. */
void aj_run_signal(struct aj_run *run, int signal);
/* End the jail for the owner's own reason; it is gone some time later. */
void aj_run_end(struct aj_run *run);

/* Descriptors and events to wait for; fd -1: none. */
void aj_run_poll(const struct aj_run *run, struct pollfd fds[AJ_RUN_FDS]);
/* See to what is ready (`revents`), in a fixed order. */
unsigned aj_run_step(struct aj_run *run, const struct pollfd fds[AJ_RUN_FDS]);
/* When aj_run_due() wants to be called: INT64_MAX never. */
int64_t aj_run_deadline_us(const struct aj_run *run);
void aj_run_due(struct aj_run *run);
/* It holds a lock that nobody let it take, and is ended for that. */
void aj_run_cheated(struct aj_run *run);
/* The jail cannot be waited for any more. */
void aj_run_fail(struct aj_run *run, const char *cause);

/* What the result holds. The jail must be gone. */
/* Take the output that is there already: what was written before a message comes before it. */
void aj_run_drain(struct aj_run *run);
void aj_run_free(struct aj_run *run);
