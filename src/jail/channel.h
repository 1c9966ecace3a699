/* The control channel to a snippet's runner: filters and requests out, claims and tool calls back, in a fixed order of messages. */
#pragma once
#include "base/frame.h"
#include "base/json_scan.h"
#include "jail/encode.h"
#include "result/result.h"

/* Read at a time: on the stack, as several threads may each have a supervisor, and some have little of it. Small messages are some hundred times
 * as much work as their bytes, so where no large one is on its way fewer bytes are read: an event loop has others to see to. */
enum { AJ_CHUNK_BYTES = 32 << 10, AJ_SMALL_CHUNK_BYTES = 4 << 10 };

/* What a call found out, as bits. */
enum {
	AJ_CHANNEL_FAILED = 1,    /* the jail is unfit for code: result->setup says why */
	AJ_CHANNEL_ANSWERED = 2,  /* result->claim is there */
	AJ_CHANNEL_BROKEN = 4,    /* not a protocol any more: `why` says what was wrong */
	AJ_CHANNEL_BRANCHED = 16, /* an answer to aj_channel_branch() */
	AJ_CHANNEL_LISTENER = 32, /* `says_listener` says that `listener` is where its filter reports */
	AJ_CHANNEL_REFUSED = 64,  /* too many calls that had to be refused: `why` says what was wrong with the last one */
	AJ_CHANNEL_ARMED = 8,     /* the kernel confirms the runner's walls: it may be given code */
};

struct aj_channel {
	int *fd; /* owned by the jail; -1: there is none (any more) */
	struct aj_result *result;
	/* A tool is called, `scan` saw the body: 0, AJ_CHANNEL_BROKEN where that is no call, or AJ_CHANNEL_REFUSED, with why. May be NULL: no tools. */
	unsigned (*on_call)(void *arg, const char *body, size_t bytes, struct aj_scan *scan, const char **ret_why);
	void *on_call_arg;
	size_t call_values; /* JSON values of a call: what follows so many is not looked at */
	struct aj_buffer outbox;
	size_t unread_at, unread; /* in the outbox: its first frame that was not sent whole; answers from there on */
	struct aj_buffer request; /* composed while the jail is being built, held back until the runner is armed */
	struct aj_frame_reader inbox;
	struct aj_scan scan; /* of what is there of a call or a result */
	size_t filters;      /* that the kernel must confirm: the plan's, and those that we run under ourselves */
	pid_t says_listener;
	int listener;      /* a number in that process: a claim */
	pid_t runner;      /* that armed itself, in our PID namespace; 0 before */
	pid_t init;        /* the jail's: a child of it arms itself */
	pid_t expected;    /* a branch's: nobody else may arm it; 0: the first child of init */
	bool branching;    /* the runner was asked for a copy of itself, and has not answered */
	int branch_errnum; /* its answer: a claim */
	bool armed;
	bool busy, started, answered; /* the snippet's states, in this order; new with each */
	char nonce[AJ_NONCE_BYTES];   /* of the snippet under way, when more may follow: its result begins with it */
	bool nonced;
	bool reading; /* messages are being seen to: what is answered meanwhile is sent after them */
	bool ended;   /* nothing more goes either way; the fd is still there */
	bool broken;
	char why[160]; /* plain characters only */
};

/* Start watching: no message has been exchanged. `init`: of the jail, whose child the runner is. `filters`: what aj_procfs_own_filters() said when the runner's process, or the
 * zygote that it comes from, was started. Without effect when there is no channel. */
unsigned aj_channel_open(struct aj_channel *channel, int *fd, pid_t init, int filters, size_t result_bytes, struct aj_result *result);
/* To a runner that was started for this: what it needs before it can be armed. `lasting`: more than one snippet will come. */
void aj_channel_arm(struct aj_channel *channel, const struct aj_plan *plan, const struct aj_policy *policy, bool lasting);
/* The snippet, now or as soon as the runner is armed; none may be under way. Not `lasting`: it is the last one. -1 with err when
 * the inputs are not valid JSON. */
int aj_channel_request(struct aj_channel *channel, bool lasting, const struct aj_plan *plan, const struct aj_policy *policy,
                       const struct aj_request *request, struct aj_error *err);
/* Ask an idle runner for a copy of itself. -1 with err. */
int aj_channel_branch(struct aj_channel *channel, struct aj_error *err);
/* A tool's answer (JSON). Without effect when no snippet waits. */
void aj_channel_tool(struct aj_channel *channel, const char *text, size_t bytes);

bool aj_channel_writing(const struct aj_channel *channel);
void aj_channel_write(struct aj_channel *channel);
/* Read what is there, once. */
unsigned aj_channel_read(struct aj_channel *channel);
/* The jail is gone: if the runner had never been armed, that goes into result->setup. */
void aj_channel_ended(struct aj_channel *channel);
void aj_channel_free(struct aj_channel *channel);
