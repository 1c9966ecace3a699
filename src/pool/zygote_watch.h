/* The source of a pool's jails: pool/zygote.h in an event loop, with its descriptors and deadlines watched. */
#pragma once
#include "base/loop.h"
#include "pool/zygote.h"

struct aj_zygote_watch {
	struct aj_loop *loop;
	/* BORN: the jail is the callback's. FAILED: one birth failed. DEAD: the zygote has ended, with the births that it owed. NOTHING:
	 * no more events for now. err with FAILED and DEAD. May end or start a zygote, and must not free this struct. */
	void (*on_event)(void *arg, enum aj_zygote_found found, const struct aj_jail *jail, const struct aj_error *err);
	void *arg;
	unsigned ready_ms; /* for all imports, from the zygote's start; 0: a minute */

	struct aj_zygote zygote;
	bool there;
	struct aj_io control, report, end;
	struct aj_timer deadline;
};

/* The loop, on_event, arg and ready_ms are set, the rest is zero. -1 with err, and nothing left behind. */
int aj_zygote_watch_start(struct aj_zygote_watch *births, const struct aj_plan *plan, const struct aj_policy *policy,
                          struct aj_error *err);
/* Does the zygote take orders now? */
bool aj_zygote_watch_open(const struct aj_zygote_watch *births);
/* See aj_zygote_order(). */
int aj_zygote_watch_order(struct aj_zygote_watch *births, struct aj_error *err);
/* Jails ordered, and neither born nor failed yet. */
unsigned aj_zygote_watch_due(const struct aj_zygote_watch *births);
/* End the zygote, if there is one, and the jails that it owes, without on_event. */
void aj_zygote_watch_end(struct aj_zygote_watch *births);
