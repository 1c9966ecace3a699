/* The control channel to a snippet's runner: filters and request out, one claim back, in a fixed order of messages. */
#pragma once
#include "base/frame.h"
#include "run/result.h"
#include "run/wire.h"

/* What a call found out, as bits. */
enum {
	AJ_CHANNEL_FAILED = 1,   /* the jail is unfit for the code: result->setup says why */
	AJ_CHANNEL_ANSWERED = 2, /* result->claim is there */
	AJ_CHANNEL_BROKEN = 4,   /* not a protocol any more: `why` says what was wrong */
};

struct aj_channel {
	int *fd;       /* owned by the jail; -1 once it is closed */
	int *listener; /* where the fd goes on which the kernel reports refused calls; -1 so far */
	struct aj_result *result;
	struct aj_buffer outbox;
	struct aj_buffer request; /* composed while the jail is being built, held back until the runner is armed */
	struct aj_frame_reader inbox;
	size_t filters;                /* that the kernel must confirm: the plan's, and those that we run under ourselves */
	bool armed, started, answered; /* the runner's states, in this order */
	bool broken;
	char why[160]; /* plain characters only */
};

/* Compose what will be sent. Without effect when there is no channel. */
unsigned aj_channel_open(struct aj_channel *channel, int *fd, int *listener, const struct aj_plan *plan,
                         const struct aj_policy *policy, const struct aj_request *request, struct aj_result *result);
bool aj_channel_writing(const struct aj_channel *channel);
void aj_channel_write(struct aj_channel *channel);
/* Read what is there, once. Closes the fd at its end. */
unsigned aj_channel_read(struct aj_channel *channel);
/* The jail is gone: if the runner had never been armed, that goes into result->setup. */
void aj_channel_ended(struct aj_channel *channel);
void aj_channel_free(struct aj_channel *channel);
