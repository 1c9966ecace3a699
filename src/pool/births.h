/* Where a pool's jails come from: run/zygote.h in an event loop, with its descriptors and its deadlines watched. */
#pragma once
#include "base/loop.h"
#include "run/zygote.h"

struct aj_births {
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
int aj_births_start(struct aj_births *births, const struct aj_plan *plan, const struct aj_policy *policy, struct aj_error *err);
/* It takes orders, now. */
bool aj_births_open(const struct aj_births *births);
/* See aj_zygote_order(). */
int aj_births_order(struct aj_births *births, struct aj_error *err);
/* Ordered, and neither born nor failed so far. */
unsigned aj_births_due(const struct aj_births *births);
/* The zygote, if there is one, and what it owes; on_event is not told. */
void aj_births_end(struct aj_births *births);
