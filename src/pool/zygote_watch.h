/* Where a pool's jails come from: pool/zygote.h in an event loop, with its descriptors and its deadlines watched. */
#pragma once
#include "base/loop.h"
#include "pool/zygote.h"

struct aj_zygote_watch {
	struct aj_loop *loop;
	/* BORN: the jail is the owner's. FAILED: one birth. DEAD: the zygote, which is gone already, with the births that it owed.
	 * NOTHING: that was all for now. err with FAILED and DEAD. It may end or start a zygote, and not free this. */
	void (*on_event)(void *arg, enum aj_zygote_found found, const struct aj_jail *jail, const struct aj_error *err);
	void *arg;
	unsigned ready_ms; /* from its start on, for all that it imports; 0: a minute */

	struct aj_zygote zygote;
	bool there;
	struct aj_io control, report, end;
	struct aj_timer patience;
};

/* The loop, on_event, arg and ready_ms are set, the rest is zero. -1 with err, and nothing left behind. */
int aj_zygote_watch_start(struct aj_zygote_watch *births, const struct aj_plan *plan, const struct aj_policy *policy,
                          struct aj_error *err);
/* It takes orders, now. */
bool aj_zygote_watch_open(const struct aj_zygote_watch *births);
/* See aj_zygote_order(). */
int aj_zygote_watch_order(struct aj_zygote_watch *births, struct aj_error *err);
/* Ordered, and neither born nor failed so far. */
unsigned aj_zygote_watch_due(const struct aj_zygote_watch *births);
/* The zygote, if there is one, and what it owes; on_event is not told. */
void aj_zygote_watch_end(struct aj_zygote_watch *births);
