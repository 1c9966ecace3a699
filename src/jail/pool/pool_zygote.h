/* A zygote as its supervisor sees it: started once, then asked for one jail after another, in an event loop.
 * It has imported third-party packages, so its messages are claims, and its jails are verified like any other. */
#pragma once
#include "base/buffer.h"
#include "base/frame.h"
#include "base/loop/loop.h"
#include "sandbox/birth_protocol.h"
#include "sandbox/launch.h"

enum aj_zygote_found {
	AJ_ZYGOTE_NOTHING, /* no more events for now */
	AJ_ZYGOTE_READY,   /* takes orders from here on; not reported */
	AJ_ZYGOTE_WARNS,   /* it reports that the import of a module failed, at most once. The zygote continues */
	AJ_ZYGOTE_BORN,    /* a jail, which is the owner's */
	AJ_ZYGOTE_FAILED,  /* one birth failed. The zygote continues */
	AJ_ZYGOTE_DEAD,    /* the zygote has ended, with the births that it owed */
};

struct aj_zygote {
	/* The owner's, before aj_zygote_start(). err with WARNS, FAILED and DEAD. The callback may end or start the zygote, and
	 * must not free this struct. */
	struct aj_loop *loop;
	void (*on_event)(void *arg, enum aj_zygote_found found, const struct aj_process *process, const struct aj_error *err);
	void *arg;
	unsigned ready_ms; /* for all imports, from the zygote's start; 0: a minute */

	bool there;
	const struct aj_plan *plan; /* of the zygote's jails too */
	const struct aj_policy *policy;
	struct aj_process process; /* the zygote's own: init_pid is the zygote itself */
	bool ready;                /* takes orders */
	struct aj_frame_reader inbox;
	char importing[80]; /* the module that it last reported: a claim, plain characters only */
	size_t imports;     /* number of such reports */
	bool warned;
	struct aj_buffer outbox;                  /* the part of the plan that is not sent yet */
	struct aj_process waiting[AJ_BIRTHS_MAX]; /* ordered, in this order */
	size_t waiting_count;
	uint32_t orders;     /* in total; those that wait are the last ones */
	struct aj_error err; /* why the zygote is unusable */
	struct aj_io control, report, end;
	struct aj_timer deadline;
};

/* Start a zygote under a plan that was built with request.zygote and for which aj_plan_warm_why_not() is NULL. -1 with err:
 * nothing is left behind. */
int aj_zygote_start(struct aj_zygote *zygote, const struct aj_plan *plan, const struct aj_policy *policy, struct aj_error *err);
/* Does the zygote take orders now? At most AJ_BIRTHS_MAX are under way. */
bool aj_zygote_open(const struct aj_zygote *zygote);
/* Order a jail. -1 with err, and nothing ordered. */
int aj_zygote_order(struct aj_zygote *zygote, struct aj_error *err);
/* Jails ordered, and neither born nor failed yet. */
unsigned aj_zygote_due(const struct aj_zygote *zygote);
/* Kill the zygote, if there is one, and the jails that were ordered and not born yet, without on_event. Born jails live on. */
void aj_zygote_end(struct aj_zygote *zygote);
