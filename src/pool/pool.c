/* Keeps a zygote, a few parked jails, and a queue of waiters.
 * Never gives a jail to two waiters, and never reuses a jail that was given away. */
#include "pool/pool.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/procfs.h"
#include "pool/fork_watch.h"
#include "pool/newborn.h"
#include "pool/zygote_watch.h"

/* A session's workspace is searched at each answer; the limit keeps the loop responsive. */
enum { SEARCH_MS = 100 };
/* Backoff after a zygote died, or could not make a jail. */
enum { FIRST_PAUSE_US = 100000, LONGEST_PAUSE_US = 10000000 };
/* A jail must be armed after this long. */
enum { ARM_US = 20000000 };
/* A parked jail that was handed out is replaced once its first snippet has had the processors to itself for this long, or is over. */
enum { REFILL_US = 5000 };

struct aj_pool {
	struct aj_loop *loop;
	struct aj_pool_config config;
	struct aj_arena arena;
	struct aj_plan jail_plan, zygote_plan;
	int filters;
	bool retired;
	struct aj_zygote_watch births;
	struct aj_worker *parked;   /* armed */
	struct aj_worker *starting; /* born, not armed */
	unsigned starting_count;
	struct aj_worker *ending;
	struct aj_fork_watch *fork_watches; /* fork groups */
	struct aj_waiters waiters;
	unsigned used;
	struct aj_timer pause;  /* then zygote and births are retried */
	struct aj_timer refill; /* then the parked jails are topped up */
	int64_t pause_us;
	struct aj_pool_counts counts;
};

static void fill_pool(struct aj_pool *p);

static void report_trouble(struct aj_pool *p, const struct aj_error *err)
{
	p->counts.failures++;
	if (p->config.on_trouble)
		p->config.on_trouble(p->config.trouble_arg, err);
}

static bool unlink_worker(struct aj_worker **list, struct aj_worker *w)
{
	while (*list && *list != w)
		list = &(*list)->next;
	bool found = *list;
	if (found)
		*list = w->next;
	return found;
}

static void link_worker(struct aj_worker **list, struct aj_worker *w)
{
	w->next = *list;
	*list = w;
}

/* The callback may cancel its own request or other queued ones. */
static void fail_waiters(struct aj_pool *p, const struct aj_error *err)
{
	struct aj_waiter *waiter;
	for (unsigned count = p->counts.asked; count && (waiter = aj_waiters_take(&p->waiters)); count--) {
		p->counts.asked--;
		waiter->fn(waiter, NULL, err);
	}
}

/* Fails the current waiters; later ones wait for the next try. */
static void pause_after(struct aj_pool *p, const struct aj_error *err)
{
	report_trouble(p, err);
	p->pause_us = p->pause_us ? p->pause_us * 2 : FIRST_PAUSE_US;
	if (p->pause_us > LONGEST_PAUSE_US)
		p->pause_us = LONGEST_PAUSE_US;
	aj_loop_set(p->loop, &p->pause, aj_now_us() + p->pause_us);
	fail_waiters(p, err);
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

static void on_ended(struct aj_worker *w, unsigned found)
{
	struct aj_pool *p = w->owner;
	if (!(found & AJ_RUN_GONE))
		return;
	unlink_worker(&p->ending, w);
	aj_worker_destroy(w);
	free(w);
}

static void end_worker(struct aj_pool *p, struct aj_worker *w)
{
	w->owner = p;
	w->on_event = on_ended;
	link_worker(&p->ending, w);
	if (w->run.gone)
		on_ended(w, AJ_RUN_GONE);
	else
		aj_worker_end(w);
}

static void give_jail(struct aj_pool *p, struct aj_worker *w)
{
	struct aj_waiter *waiter = aj_waiters_take(&p->waiters);
	p->counts.asked--;
	p->used++;
	aj_loop_unset(p->loop, &w->timer);
	waiter->fn(waiter, w, NULL);
}

/* An unused jail: either it arms itself, once, or it dies. */
static void on_unused(struct aj_worker *w, unsigned found)
{
	struct aj_pool *p = w->owner;
	if (found & AJ_RUN_GONE) {
		struct aj_error err = w->run.result.setup;
		bool armed = unlink_worker(&p->parked, w);
		aj_fail(&err, AJ_EXIT_SETUP, "birth", 0, "a jail ended before it was used: %s", w->run.result.reason);
		if (!armed)
			unlink_worker(&p->starting, w);
		*(armed ? &p->counts.parked : &p->starting_count) -= 1;
		aj_worker_destroy(w);
		free(w);
		if (armed)
			report_trouble(p, &err);
		else
			retry_or_pause(p, &err);
		fill_pool(p);
	} else if (found & AJ_RUN_ARMED) {
		unlink_worker(&p->starting, w);
		p->starting_count--;
		p->counts.births++;
		p->pause_us = 0;
		w->run.deadline_us = INT64_MAX;
		if (p->waiters.first) {
			give_jail(p, w);
		} else {
			link_worker(&p->parked, w);
			p->counts.parked++;
		}
		fill_pool(p);
	}
}

static void adopt_jail(struct aj_pool *p, const struct aj_jail *jail, struct aj_protect *protect, bool warm)
{
	struct aj_error err = { 0 };
	struct aj_worker *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->run.plan = &p->jail_plan;
	w->run.policy = p->config.policy;
	w->run.jail = *jail;
	w->run.protect = protect;
	w->on_event = on_unused;
	w->owner = p;
	w->warm = warm;
	if (aj_worker_start(w, p->loop, p->filters, &err) < 0) {
		free(w);
		pause_after(p, &err);
		return;
	}
	if (!warm) {
		aj_channel_arm(&w->run.channel, &p->jail_plan, p->config.policy, true);
		aj_channel_write(&w->run.channel);
	}
	w->run.deadline_us = aj_now_us() + ARM_US;
	aj_worker_watch(w);
	link_worker(&p->starting, w);
	p->starting_count++;
}

static void on_birth(void *arg, enum aj_zygote_found found, const struct aj_jail *jail, const struct aj_error *err)
{
	struct aj_pool *p = arg;
	if (found == AJ_ZYGOTE_NOTHING)
		fill_pool(p);
	if (found == AJ_ZYGOTE_BORN)
		adopt_jail(p, jail, NULL, true);
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
	if (aj_zygote_watch_start(&p->births, &p->zygote_plan, p->config.policy, &err) < 0)
		pause_after(p, &err);
}

static void start_cold(struct aj_pool *p)
{
	struct aj_error err = { 0 };
	struct aj_jail jail;
	p->filters = aj_procfs_own_filters();
	struct aj_protect *protect;
	const struct aj_plan *launched;
	if (aj_protect_open(&protect, &p->jail_plan, SEARCH_MS, &launched, &err) < 0 || aj_launch(launched, &jail, &err) < 0) {
		aj_protect_close(protect);
		pause_after(p, &err);
		return;
	}
	adopt_jail(p, &jail, protect, false);
}

/* Parked, starting or ordered. */
static unsigned available(const struct aj_pool *p)
{
	return p->counts.parked + p->starting_count + aj_zygote_watch_due(&p->births);
}

static int fail_busy(const struct aj_pool *p, struct aj_error *err)
{
	return aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_LIMIT, "busy", 0, "%u jails are alive, and no more may be",
	                       p->config.jails_max);
}

/* Start as many jails as are wanted and allowed. */
static void fill_pool(struct aj_pool *p)
{
	bool warm = !p->counts.cold_why;
	struct aj_error full = { 0 };
	if (p->retired || p->pause.place)
		return;
	/* No jail is bound to come back: their owner may be the very caller that waits, so waiting would deadlock. */
	if (p->counts.asked && p->config.jails_max && p->used >= p->config.jails_max && !available(p)) {
		fail_busy(p, &full);
		fail_waiters(p, &full);
		return;
	}
	/* Also when enough are parked: their replacements will need the zygote. */
	if (warm && p->config.depth && !p->births.there)
		start_zygote(p);
	for (;;) {
		unsigned there = available(p), wanted = p->counts.asked + (warm ? p->config.depth : 0);
		if (there >= wanted || (p->config.jails_max && there + p->used >= p->config.jails_max) || p->pause.place)
			return;
		if (!warm) {
			start_cold(p);
			continue;
		}
		if (!p->births.there)
			start_zygote(p);
		struct aj_error err = { 0 };
		if (!aj_zygote_watch_open(&p->births))
			return;
		if (aj_zygote_watch_order(&p->births, &err) < 0) {
			pause_after(p, &err);
			return;
		}
	}
}

static void on_fill_timer(struct aj_timer *timer)
{
	fill_pool(timer->arg);
}

struct aj_pool *aj_pool_new(struct aj_loop *loop, const struct aj_pool_config *config, struct aj_error *err)
{
	struct aj_pool *p = calloc(1, sizeof *p);
	if (!p)
		abort();
	p->loop = loop;
	p->config = *config;
	p->pause = (struct aj_timer){ .fn = on_fill_timer, .arg = p };
	p->refill = (struct aj_timer){ .fn = on_fill_timer, .arg = p };
	p->births = (struct aj_zygote_watch){ .loop = loop, .on_event = on_birth, .arg = p, .ready_ms = config->ready_ms };
	struct aj_request request = { .snippet = true,
		                      .lasting = true,
		                      .id = "",
		                      .code = "",
		                      .filename = "<snippet>",
		                      .terminal_fd = -1,
		                      .rootfs = config->rootfs,
		                      .workspace = config->workspace,
		                      .branching = config->branching,
		                      .cgroup = config->cgroup };
	int r = aj_plan_build(&p->jail_plan, &p->arena, config->policy, &request, config->host, err);
	request.zygote = true;
	if (r == 0)
		r = aj_plan_build(&p->zygote_plan, &p->arena, config->policy, &request, config->host, err);
	if (r < 0) {
		aj_arena_free(&p->arena);
		free(p);
		return NULL;
	}
	p->counts.cold_why = aj_plan_warm_why_not(&p->jail_plan);
	if (!p->counts.cold_why)
		p->counts.cold_why = aj_newborn_why_not();
	fill_pool(p);
	return p;
}

void aj_pool_retire(struct aj_pool *p)
{
	struct aj_error err = { 0 };
	if (p->retired)
		return;
	p->retired = true;
	aj_loop_unset(p->loop, &p->pause);
	aj_loop_unset(p->loop, &p->refill);
	aj_zygote_watch_end(&p->births);
	struct aj_worker **lists[] = { &p->parked, &p->starting };
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (struct aj_worker *w; (w = *lists[i]);) {
			*lists[i] = w->next;
			end_worker(p, w);
		}
	p->counts.parked = p->starting_count = 0;
	aj_fail(&err, AJ_EXIT_SETUP, "pool", 0, "it is closed");
	fail_waiters(p, &err);
}

void aj_pool_free(struct aj_pool *p)
{
	aj_pool_retire(p);
	/* Groups first: then no single end below has to wait for its group. */
	for (struct aj_fork_watch *watch = p->fork_watches, *next; watch; watch = next) {
		next = aj_fork_watch_next(watch);
		aj_fork_watch_stop(watch);
	}
	for (struct aj_worker *w; (w = p->ending);) {
		p->ending = w->next;
		aj_worker_destroy(w);
		free(w);
	}
	while (p->fork_watches)
		aj_fork_watch_free(p->fork_watches);
	aj_arena_free(&p->arena);
	free(p);
}

unsigned aj_pool_used(const struct aj_pool *p)
{
	return p->used;
}

/* A dead jail must not be handed out, although its end was not reported yet. */
static bool is_alive(const struct aj_worker *w)
{
	return !aj_pidfd_ended(w->run.jail.init_pidfd);
}

void aj_pool_request(struct aj_pool *p, struct aj_waiter *waiter)
{
	aj_waiters_add(&p->waiters, waiter);
	p->counts.asked++;
	struct aj_worker *w = p->parked;
	while (w && !is_alive(w))
		w = w->next;
	if (w && p->waiters.first == waiter) {
		unlink_worker(&p->parked, w);
		p->counts.parked--;
		if (!p->refill.place)
			aj_loop_set(p->loop, &p->refill, aj_now_us() + REFILL_US);
		give_jail(p, w);
	} else {
		fill_pool(p);
	}
}

void aj_pool_cancel(struct aj_pool *p, struct aj_waiter *waiter)
{
	for (struct aj_fork_watch *watch = p->fork_watches; watch; watch = aj_fork_watch_next(watch))
		if (aj_fork_watch_cancel(watch, waiter))
			return;
	if (aj_waiters_remove(&p->waiters, waiter))
		p->counts.asked--;
}

/* Callbacks of fork_watch. */

static void branch_there(void *arg, struct aj_worker *w)
{
	struct aj_pool *p = arg;
	(void)w;
	p->used++;
}

static void branch_failed(void *arg, struct aj_worker *w)
{
	end_worker(arg, w);
}

int aj_pool_branch(struct aj_pool *p, struct aj_worker *w, struct aj_waiter *waiter, struct aj_error *err)
{
	struct aj_fork_watch *watch = aj_fork_watch_of(p->fork_watches, w);
	if (p->config.jails_max && available(p) + p->used >= p->config.jails_max)
		return fail_busy(p, err);
	if (!watch)
		watch = aj_fork_watch_new(&p->fork_watches, p->loop,
		                          &(struct aj_fork_watch_owner){ branch_there, branch_failed, p }, w, p->filters, err);
	if (!watch)
		return -1;
	aj_fork_watch_request(watch, w, waiter);
	return 0;
}

void aj_pool_return(struct aj_pool *p, struct aj_worker *w)
{
	/* A jail that is gone has left its fork group already; requests for copies of it may still be queued there. */
	for (struct aj_fork_watch *watch = p->fork_watches; watch; watch = aj_fork_watch_next(watch))
		aj_fork_watch_lose(watch, w);
	p->used--;
	end_worker(p, w);
	aj_loop_unset(p->loop, &p->refill);
	fill_pool(p);
}

void aj_pool_count(const struct aj_pool *p, struct aj_pool_counts *ret)
{
	*ret = p->counts;
	ret->starting = available(p) - p->counts.parked;
	ret->warm = p->births.there;
}

const struct aj_plan *aj_pool_plan(const struct aj_pool *p)
{
	return &p->jail_plan;
}
