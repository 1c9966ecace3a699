/* The control channel to a snippet's runner: filters and requests out, claims and tool calls back, in a fixed order. */
#pragma once
#include "base/frame.h"
#include "base/json/scan.h"
#include "jail/channel/encode.h"
#include "jail/result/result.h"

/* Bytes per read: on the stack, which may be small in a thread with a supervisor. Small messages take some hundred times as long
 * as their bytes: unless a large one is under way less is read at a time, to keep an event loop responsive. */
enum { AJ_CHUNK_BYTES = 32 << 10, AJ_SMALL_CHUNK_BYTES = 4 << 10 };

/* Results of a call, as bits. */
enum {
	AJ_CHANNEL_FAILED = 1,    /* the jail is unusable: result->setup says why */
	AJ_CHANNEL_ANSWERED = 2,  /* result->claim is set */
	AJ_CHANNEL_BROKEN = 4,    /* protocol violation: `why` names it */
	AJ_CHANNEL_BRANCHED = 16, /* an answer to aj_channel_branch() */
	AJ_CHANNEL_LISTENER = 32, /* `listener_sender` claims that its descriptor `listener` is its filter's listener */
	AJ_CHANNEL_REFUSED = 64,  /* too many invalid tool calls: `why` says what was wrong with the last one */
	AJ_CHANNEL_ARMED = 8,     /* the kernel confirms the runner's walls: code may be sent */
};

struct aj_channel {
	int *fd; /* owned by the jail; -1: none, or closed */
	struct aj_result *result;
	/* A tool call whose body `scan` has checked. Returns 0, AJ_CHANNEL_BROKEN when it is not a call, or AJ_CHANNEL_REFUSED,
	 * with why. NULL: no tools. */
	unsigned (*on_call)(void *arg, const char *body, size_t bytes, struct aj_scan *scan, const char **ret_why);
	void *on_call_arg;
	size_t call_values; /* limit of JSON values in a call: beyond it the scan stops */
	struct aj_buffer outbox;
	size_t unread_at, unread; /* in the outbox: offset of the first frame not sent whole; number of answers from there on */
	struct aj_buffer request; /* composed while the jail is being built, held back until the runner is armed */
	struct aj_frame_reader inbox;
	struct aj_scan scan; /* over the part of a call or result that has arrived */
	size_t filters;      /* for the kernel to confirm: the plan's, and those that we run under ourselves */
	pid_t listener_sender;
	int listener;       /* a descriptor number in that process: a claim */
	pid_t runner;       /* pid of the armed runner, in our PID namespace; 0 before */
	pid_t init;         /* pid of the jail's init, the runner's parent */
	pid_t expected;     /* a branch: the only process that may arm; 0: the first child of init */
	unsigned branching; /* requests for a copy of itself that the runner has not answered; the copy may be ready sooner */
	int branch_errnum;  /* the latest answer to that: a claim */
	bool armed;
	bool busy, started, answered; /* the snippet's states, in this order */
	char nonce[AJ_NONCE_BYTES];   /* of the snippet under way, when more may follow: its result starts with it */
	bool nonced;
	bool reading;       /* in aj_channel_read(), which sends pending answers at its end */
	const char *masked; /* what the policy hides of the tree, NULL for nothing: for advice where Python does not come up */
	bool ended;         /* shut down in both directions; the fd is still open */
	bool broken;
	char why[160]; /* plain characters only */
};

/* Start a channel: no message has been exchanged. `init`: of the jail, the runner's parent. `filters`: aj_procfs_own_filters()
 * when the runner's process, or its zygote, was started. Without effect when there is no socket. */
unsigned aj_channel_open(struct aj_channel *channel, int *fd, pid_t init, int filters, size_t result_bytes,
                         struct aj_result *result);
/* For a runner that starts cold: send what it needs to be armed. `lasting`: more than one snippet will come. */
void aj_channel_arm(struct aj_channel *channel, const struct aj_plan *plan, const struct aj_policy *policy, bool lasting);
/* For an armed runner that has got no snippet yet: the Python layer of another policy than the one that it was prepared with. */
void aj_channel_layer(struct aj_channel *channel, const struct aj_policy *policy);
/* Send the snippet, now or as soon as the runner is armed; none may be under way. Not `lasting`: the last one. -1 with err: the
 * inputs are not valid JSON. */
int aj_channel_request(struct aj_channel *channel, bool lasting, const struct aj_plan *plan, const struct aj_policy *policy,
                       const struct aj_request *request, struct aj_error *err);
/* Ask an idle runner for a copy of itself. -1 with err. */
int aj_channel_branch(struct aj_channel *channel, struct aj_error *err);
/* Send a tool's answer (JSON). Without effect when no snippet is under way. */
void aj_channel_tool(struct aj_channel *channel, const char *text, size_t bytes);

bool aj_channel_writing(const struct aj_channel *channel);
void aj_channel_write(struct aj_channel *channel);
/* Read once, what is available. */
unsigned aj_channel_read(struct aj_channel *channel);
/* The jail is gone: if the runner was never armed, say so in result->setup. */
void aj_channel_ended(struct aj_channel *channel);
void aj_channel_free(struct aj_channel *channel);
