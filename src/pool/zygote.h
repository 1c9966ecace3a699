/* A zygote as its supervisor sees it: started once, then ordered one jail after the other, without blocking.
 * It has imported third-party packages, so nothing that it says is believed; its jails are verified as any other. */
#pragma once
#include "base/buffer.h"
#include "base/frame.h"
#include "sandbox/birth_protocol.h"
#include "sandbox/launch.h"

struct aj_zygote {
	const struct aj_plan *plan; /* of the zygote's jails too */
	const struct aj_policy *policy;
	struct aj_jail jail; /* the zygote's own: init_pid is the zygote itself */
	bool ready;          /* takes orders */
	struct aj_frame_reader inbox;
	char importing[80];                    /* the module that it last reported: a claim, plain characters only */
	size_t imports;                        /* number of such reports */
	struct aj_buffer outbox;               /* the part of the plan that is not sent yet */
	struct aj_jail waiting[AJ_BIRTHS_MAX]; /* ordered, in this order */
	size_t waiting_count;
	uint32_t orders;     /* in total; those that wait are the last ones */
	struct aj_error err; /* why the zygote is unusable; then end it */
};

/* Start a zygote under a plan that was built with request.zygote and for which aj_plan_warm_why_not() is NULL. -1 with err, and nothing
 * left behind. */
int aj_zygote_start(struct aj_zygote *zygote, const struct aj_plan *plan, const struct aj_policy *policy, struct aj_error *err);

/* Descriptors to poll: control, report and the pidfd (POLLIN); control also for POLLOUT while this is true. */
bool aj_zygote_writing(const struct aj_zygote *zygote);
enum aj_zygote_found {
	AJ_ZYGOTE_NOTHING,
	AJ_ZYGOTE_READY,  /* once */
	AJ_ZYGOTE_BORN,   /* *ret_jail is there, and the caller's */
	AJ_ZYGOTE_FAILED, /* one birth failed: *ret_err. The zygote goes on */
	AJ_ZYGOTE_DEAD,   /* zygote->err says why; end it */
};
/* Call again until it returns AJ_ZYGOTE_NOTHING. */
enum aj_zygote_found aj_zygote_read(struct aj_zygote *zygote, struct aj_jail *ret_jail, struct aj_error *ret_err);

/* Order a jail; at most AJ_BIRTHS_MAX are under way. -1 with err, and nothing ordered. */
int aj_zygote_order(struct aj_zygote *zygote, struct aj_error *err);

/* The zygote took too long: sets zygote->err; then end it. */
void aj_zygote_give_up(struct aj_zygote *zygote);

/* Kill the zygote and the jails that were ordered and not born yet. Born jails live on. */
void aj_zygote_end(struct aj_zygote *zygote);
