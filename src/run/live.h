/* One jail, watched: everything that can happen to it, as steps of whatever loop its owner has. A jail that lasts takes one
 * snippet after the other; any other has one, and its run is over when the jail is gone. */
#pragma once
#include <poll.h>

#include "run/channel.h"
#include "run/locks.h"
#include "run/mediate.h"
#include "run/protect.h"
#include "run/pump.h"
#include "run/verdict.h"
#include "sandbox/launch.h"

/* What is waited for, in the order in which it is seen to. */
enum aj_live_fd {
	AJ_LIVE_REPORT,
	AJ_LIVE_CONTROL,
	AJ_LIVE_OUT,
	AJ_LIVE_ERR,
	AJ_LIVE_LISTENER,
	AJ_LIVE_CONNECTOR,
	AJ_LIVE_INIT,
	AJ_LIVE_FDS
};

/* What a step found out, as bits. */
enum {
	AJ_LIVE_ARMED = 1,    /* a lasting jail may be given its first snippet */
	AJ_LIVE_ANSWERED = 2, /* live->result is whole: status, claims, output. A lasting jail takes the next one */
	AJ_LIVE_GONE = 4,     /* the jail is gone and its fds are closed. When a run was under way, live->result is whole */
};

typedef void aj_output_fn(int fd /* 1 or 2 */, const char *data, size_t bytes, void *arg);

struct aj_live {
	/* The owner's, before aj_live_open(). */
	const struct aj_plan *plan;
	const struct aj_policy *policy;
	bool lasting;
	aj_output_fn *output; /* as it comes; may be NULL */
	void *output_arg;
	struct aj_pump *pump;       /* of standard output and error, for a plan that has such; NULL: none */
	struct aj_protect *protect; /* given to us: closed when the jail is gone. NULL without a writable workspace */
	/* One of its descriptors is about to be closed, and must not be watched any more: epoll would go on telling of it as long as
	 * another process has a copy. May be NULL: then nothing but poll() is in use. */
	void (*closing)(struct aj_live *live, enum aj_live_fd which);

	struct aj_mediator *mediator; /* of a command; open where the plan is mediated. NULL: none */
	struct aj_locks locks;        /* where the plan mediates them */
	struct aj_plan built;         /* in place of the caller's, once a folder of it is no overlay */

	/* One of several guests of one init, see run/family.h; NULL: the only one. */
	struct aj_family *family;
	struct aj_live *kin; /* the family's next */
	pid_t inner_pid;     /* as the jail numbers it */
	unsigned depth;      /* how many branches lie between it and the jail's first guest */

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
void aj_live_open(struct aj_live *live, int filters);

/* Begin a run: not before a lasting jail is armed, once for any other. `timeout_ms` (0: the policy's): where the request lasts, the
 * snippet is told to stop then, and has a moment for that before the jail is killed; elsewhere the jail is killed. -1 with err: then
 * nothing was begun. Frees what the last run left in live->result. */
int aj_live_run(struct aj_live *live, const struct aj_request *request, uint64_t timeout_ms, int64_t started_us, struct aj_error *err);

/* A signal to a command, or one that ends a snippet and its jail. */
void aj_live_signal(struct aj_live *live, int signal);
/* End the jail for the owner's own reason; it is gone some time later. */
void aj_live_end(struct aj_live *live);

/* Descriptors and events to wait for; fd -1: none. */
void aj_live_poll(const struct aj_live *live, struct pollfd fds[AJ_LIVE_FDS]);
/* See to what is ready (`revents`), in a fixed order. */
unsigned aj_live_step(struct aj_live *live, const struct pollfd fds[AJ_LIVE_FDS]);
/* When aj_live_due() wants to be called: INT64_MAX never. */
int64_t aj_live_deadline_us(const struct aj_live *live);
void aj_live_due(struct aj_live *live);
/* It holds a lock that nobody let it take, and is ended for that. */
void aj_live_cheated(struct aj_live *live);
/* The jail cannot be waited for any more. */
void aj_live_fail(struct aj_live *live, const char *cause);

/* What the result holds. The jail must be gone. */
/* Take the output that is there already: what was written before a message comes before it. */
void aj_live_drain(struct aj_live *live);
void aj_live_free(struct aj_live *live);
