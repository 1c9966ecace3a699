/* Where a pool's jails come from: orders them from the zygote, or starts them cold, and keeps as many as are wanted and allowed.
 * Uses no jail that has not armed itself, and starts nothing while the pool pauses after a failure. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/procfs.h"
#include "jail/pool/pool_inner.h"
#include "policy/host/host.h"

/* A session's workspace is searched at each answer; the limit keeps the loop responsive. */
enum { SEARCH_MS = 100 };
/* Backoff after a zygote died, or could not make a jail. */
enum { FIRST_PAUSE_US = 100000, LONGEST_PAUSE_US = 10000000 };

static void tell_owner(struct aj_pool *p, const struct aj_error *err)
{
	if (p->config.on_trouble)
		p->config.on_trouble(p->config.trouble_arg, err);
}

static void report_trouble(struct aj_pool *p, const struct aj_error *err)
{
	p->counts.failures++;
	tell_owner(p, err);
}

/* Whether a resource is used up that the end of other jails frees. If this pool has no jails, that can only be descriptors. */
static bool is_full(const struct aj_pool *p, const struct aj_error *err)
{
	return err->errnum == EMFILE || err->errnum == ENFILE || (p->used && (err->errnum == EAGAIN || err->errnum == ENOMEM));
}

/* Fails the current waiters, and tells them what this host lacks; later ones wait for the next try. */
static void pause_after(struct aj_pool *p, const struct aj_error *cause)
{
	struct aj_error advised = *cause;
	const struct aj_error *err = &advised;
	aj_host_advise(&advised);
	p->full = is_full(p, err);
	if (p->full) {
		advised.reason = AJ_REASON_BUSY;
		aj_advise(&advised, "end unused jails or sessions, or keep fewer at a time");
	}
	p->pause_us = p->pause_us ? p->pause_us * 2 : FIRST_PAUSE_US;
	if (p->pause_us > LONGEST_PAUSE_US)
		p->pause_us = LONGEST_PAUSE_US;
	advised.wait_ms = (unsigned)(p->pause_us / 1000);
	report_trouble(p, err);
	aj_loop_set(p->loop, &p->pause, aj_now_us() + p->pause_us);
	aj_pool_fail_waiters(p, err);
}

/* A process that had worked until now was killed: retry at once and fail no waiter, but not twice in a row. */
static void retry_or_pause(struct aj_pool *p, const struct aj_error *err)
{
	if (p->pause_us || !p->counts.births) {
		pause_after(p, err);
		return;
	}
	report_trouble(p, err);
	p->pause_us = FIRST_PAUSE_US;
}

static bool is_parked(const struct aj_pool *p, const struct aj_jail *jail)
{
	const struct aj_jail *parked;
	LIST_FOREACH(parked, &p->parked, listed)
		if (parked == jail)
			return true;
	return false;
}

static void on_unused_gone(struct aj_pool *p, struct aj_jail *jail)
{
	struct aj_error err = jail->outcome.result.setup;
	bool parked = is_parked(p, jail);
	aj_fail(&err, AJ_EXIT_SETUP, "birth", 0, "a jail ended before it was used: %s", jail->outcome.result.reason);
	LIST_REMOVE(jail, listed);
	*(parked ? &p->counts.parked : &p->starting_count) -= 1;
	aj_jail_free(jail);
	free(jail);
	if (parked)
		report_trouble(p, &err);
	else
		retry_or_pause(p, &err);
}

/* For the oldest waiter, else to be parked. If the waiter that the jail was made for has left, a jail beyond the pool's depth
 * ends: no waiter would take it. */
static void place_jail(struct aj_pool *p, struct aj_jail *jail)
{
	unsigned kept = p->counts.cold_why ? 0 : p->config.depth;
	if (!TAILQ_EMPTY(&p->waiters)) {
		aj_pool_give(p, jail);
	} else if (p->counts.parked < kept) {
		LIST_INSERT_HEAD(&p->parked, jail, listed);
		p->counts.parked++;
	} else {
		aj_pool_end(p, jail);
	}
}

/* An unused jail: either it arms itself, once, or it dies. */
static void on_unused(struct aj_jail *jail, unsigned found)
{
	struct aj_pool *p = jail->owner;
	if (found & AJ_JAIL_GONE) {
		on_unused_gone(p, jail);
		aj_pool_fill(p);
	} else if (found & AJ_JAIL_ARMED) {
		LIST_REMOVE(jail, listed);
		p->starting_count--;
		p->counts.births++;
		p->pause_us = 0;
		aj_jail_limit(jail, INT64_MAX);
		place_jail(p, jail);
		aj_pool_fill(p);
	}
}

static void adopt_jail(struct aj_pool *p, const struct aj_process *born, const struct aj_built *built, struct aj_protect *protect,
                       struct aj_growth *growth, bool warm)
{
	struct aj_jail *jail = calloc(1, sizeof *jail);
	if (!jail)
		abort();
	jail->loop = p->loop;
	jail->built = *built;
	jail->policy = p->config.policy;
	jail->lasting = true;
	jail->warm = warm;
	jail->process = *born;
	jail->workspace.protect = protect;
	jail->workspace.growth = growth;
	jail->on_event = on_unused;
	jail->owner = p;
	if (aj_jail_open(jail, p->filters) < 0) {
		struct aj_error err = jail->outcome.result.setup;
		aj_jail_free(jail);
		free(jail);
		pause_after(p, &err);
		return;
	}
	LIST_INSERT_HEAD(&p->starting, jail, listed);
	p->starting_count++;
	if (!warm)
		aj_jail_arm(jail);
	aj_jail_limit(jail, aj_now_us() + AJ_ARM_US);
}

static void on_birth(void *arg, enum aj_zygote_found found, const struct aj_process *process, const struct aj_error *err)
{
	struct aj_pool *p = arg;
	if (found == AJ_ZYGOTE_NOTHING)
		aj_pool_fill(p);
	if (found == AJ_ZYGOTE_BORN)
		adopt_jail(p, process, &(struct aj_built){ .plan = &p->jail_plan }, NULL, NULL, true);
	if (found == AJ_ZYGOTE_WARNS)
		tell_owner(p, err);
	bool killed = found == AJ_ZYGOTE_DEAD || (found == AJ_ZYGOTE_FAILED && err->errnum == ECHILD); /* zygote or newborn */
	p->counts.zygote_deaths += found == AJ_ZYGOTE_DEAD;
	if (killed)
		retry_or_pause(p, err);
	else if (found == AJ_ZYGOTE_FAILED)
		pause_after(p, err);
}

static void start_zygote(struct aj_pool *p)
{
	struct aj_error err = { 0 };
	p->filters = aj_procfs_own_filters();
	if (aj_zygote_start(&p->zygote, &p->zygote_plan, p->config.policy, &err) < 0)
		pause_after(p, &err);
}

static void start_cold(struct aj_pool *p)
{
	struct aj_error err = { 0 };
	struct aj_process process;
	p->filters = aj_procfs_own_filters();
	struct aj_protect *protect;
	struct aj_growth *growth = NULL;
	struct aj_built built;
	aj_built_open(&built, &p->jail_plan);
	if (aj_protect_open(&protect, &built, SEARCH_MS, &err) < 0 ||
	    aj_growth_open(&growth, &built, &aj_growth_shared, SEARCH_MS, &err) < 0 || aj_launch(&built, &process, &err) < 0) {
		aj_growth_close(growth);
		aj_protect_close(protect);
		aj_built_close(&built);
		pause_after(p, &err);
		return;
	}
	adopt_jail(p, &process, &built, protect, growth, false);
}

unsigned aj_pool_available(const struct aj_pool *p)
{
	return p->counts.parked + p->starting_count + aj_zygote_due(&p->zygote);
}

int aj_pool_fail_busy(const struct aj_pool *p, struct aj_error *err)
{
	aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_LIMIT, "busy", 0, "%u jails are alive, which is the limit",
	                p->config.jails_max);
	aj_advise(err, "end unused jails or sessions and forget checkpoints, or raise the limit (jails_max)");
	return -1;
}

void aj_pool_fill(struct aj_pool *p)
{
	bool warm = !p->counts.cold_why;
	struct aj_error full = { 0 };
	if (p->retired || p->pause.place)
		return;
	/* No jail is bound to come back: their owner may be the very caller that waits, so waiting would deadlock. */
	if (p->counts.asked && p->config.jails_max && p->used >= p->config.jails_max && !aj_pool_available(p)) {
		aj_pool_fail_busy(p, &full);
		aj_pool_fail_waiters(p, &full);
		return;
	}
	/* Also when enough are parked: their replacements will need the zygote. */
	if (warm && p->config.depth && !p->zygote.there)
		start_zygote(p);
	for (;;) {
		unsigned there = aj_pool_available(p);
		/* The caller's depth may be UINT_MAX. */
		uint64_t wanted = (uint64_t)p->counts.asked + (warm ? p->config.depth : 0);
		bool at_limit = p->config.jails_max && there + p->used >= p->config.jails_max;
		if (there >= wanted || at_limit || p->pause.place)
			return;
		if (!warm) {
			start_cold(p);
			continue;
		}
		if (!p->zygote.there)
			start_zygote(p);
		struct aj_error err = { 0 };
		if (!aj_zygote_open(&p->zygote))
			return;
		if (aj_zygote_order(&p->zygote, &err) < 0) {
			pause_after(p, &err);
			return;
		}
	}
}

static void on_fill_timer(struct aj_timer *timer)
{
	aj_pool_fill(timer->arg);
}

void aj_pool_supply_init(struct aj_pool *p)
{
	p->pause = (struct aj_timer){ .fn = on_fill_timer, .arg = p };
	p->refill = (struct aj_timer){ .fn = on_fill_timer, .arg = p };
	p->zygote = (struct aj_zygote){ .loop = p->loop, .on_event = on_birth, .arg = p, .ready_ms = p->config.ready_ms };
}
