/* A zygote as its supervisor sees it: started once, then asked for one jail after the other, without waiting.
 * It has imported packages of others, so nothing that it says is believed; the jails that are born from it are watched as any other. */
#pragma once
#include "base/buffer.h"
#include "base/frame.h"
#include "sandbox/birth_protocol.h"
#include "sandbox/launch.h"

struct aj_zygote {
	const struct aj_plan *plan; /* of its jails too */
	const struct aj_policy *policy;
	struct aj_jail jail; /* it is one: init_pid is the zygote itself */
	bool ready;          /* orders are taken */
	struct aj_frame_reader inbox;
	char importing[80];                    /* the module of which it said so last: a claim, plain characters only */
	size_t imports;                        /* times that it did */
	struct aj_buffer outbox;               /* of its plan, what it did not read yet */
	struct aj_jail waiting[AJ_BIRTHS_MAX]; /* ordered, in this sequence */
	size_t waiting_count;
	uint32_t orders;     /* so far; those that wait are the last ones */
	struct aj_error err; /* why it is of no use any more; then end it */
};

/* Start one under a plan that was built with request.zygote and that aj_plan_warm_why_not() has nothing against. -1 with err, and
 * nothing left behind. */
int aj_zygote_start(struct aj_zygote *zygote, const struct aj_plan *plan, const struct aj_policy *policy, struct aj_error *err);

/* Its descriptors: control, report and its pidfd, to be waited for (POLLIN); control also for room (POLLOUT) as long as this is true. */
bool aj_zygote_writing(const struct aj_zygote *zygote);
enum aj_zygote_found {
	AJ_ZYGOTE_NOTHING,
	AJ_ZYGOTE_READY,  /* once */
	AJ_ZYGOTE_BORN,   /* *ret_jail is there, and the caller's */
	AJ_ZYGOTE_FAILED, /* one birth failed: *ret_err. The zygote goes on */
	AJ_ZYGOTE_DEAD,   /* zygote->err: end it */
};
/* Call again until it finds nothing. */
enum aj_zygote_found aj_zygote_read(struct aj_zygote *zygote, struct aj_jail *ret_jail, struct aj_error *ret_err);

/* Order a jail; at most AJ_BIRTHS_MAX are under way. -1 with err, and nothing ordered. */
int aj_zygote_order(struct aj_zygote *zygote, struct aj_error *err);

/* It takes too long: what for goes into zygote->err; then end it. */
void aj_zygote_give_up(struct aj_zygote *zygote);

/* Kill it, with the jails that were ordered and did not come yet. Those that came live on. */
void aj_zygote_end(struct aj_zygote *zygote);
