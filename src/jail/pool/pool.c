/* Keeps a few parked jails and a queue of waiters, and ends the jails that come back.
 * Never gives a jail to two waiters, and never reuses a jail that was given away. */
#include "jail/pool/pool.h"

#include <stdlib.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "jail/pool/newborn.h"
#include "jail/pool/pool_inner.h"

/* A parked jail that was handed out is replaced once its first snippet has had the processors alone for this long, or is over. */
enum { REFILL_US = 5000 };

/* The callback may cancel its own request or other queued ones. */
void aj_pool_fail_waiters(struct aj_pool *p, const struct aj_error *err)
{
	struct aj_jail_waiter *waiter;
	for (unsigned count = p->counts.asked; count && (waiter = aj_jail_waiters_take(&p->waiters)); count--) {
		p->counts.asked--;
		waiter->fn(waiter, NULL, err);
	}
}

void aj_pool_give(struct aj_pool *p, struct aj_jail *jail)
{
	struct aj_jail_waiter *waiter = aj_jail_waiters_take(&p->waiters);
	p->counts.asked--;
	p->used++;
	waiter->fn(waiter, jail, NULL);
}

static void free_ended(struct aj_jail *jail)
{
	LIST_REMOVE(jail, listed);
	aj_jail_free(jail);
	free(jail);
}

/* The relay may exit later than the jail: closing a thousand connections takes time. */
static void on_ended(struct aj_jail *jail, unsigned found)
{
	(void)found;
	if (jail->gone && jail->network.relay.pidfd < 0)
		free_ended(jail);
}

void aj_pool_end(struct aj_pool *p, struct aj_jail *jail)
{
	jail->owner = p;
	jail->on_event = on_ended;
	LIST_INSERT_HEAD(&p->ending, jail, listed);
	if (jail->gone)
		on_ended(jail, AJ_JAIL_GONE);
	else
		aj_jail_give_up(jail);
}

/* Only a process that a zygote made can copy itself (guest/branch.c). */
static int set_cold_why(struct aj_pool *p, struct aj_error *err)
{
	p->counts.cold_why = aj_plan_warm_why_not(&p->jail_plan);
	if (!p->counts.cold_why)
		p->counts.cold_why = aj_newborn_why_not();
	if (!p->config.branching || !p->counts.cold_why)
		return 0;
	aj_fail(err, AJ_EXIT_USAGE, "branching", 0, "a session can be branched only if its jail is made by a zygote, but %s",
	        p->counts.cold_why);
	aj_advise(err, "open the session without branching, or under a policy without that");
	return -1;
}

struct aj_pool *aj_pool_new(struct aj_loop *loop, const struct aj_pool_config *config, struct aj_error *err)
{
	struct aj_pool *p = calloc(1, sizeof *p);
	if (!p)
		abort();
	p->loop = loop;
	p->config = *config;
	TAILQ_INIT(&p->waiters);
	aj_pool_supply_init(p);
	struct aj_request request = { .is_snippet = true,
		                      .lasting = true,
		                      .id = "",
		                      .snippet = { .code = "", .filename = "<snippet>" },
		                      .command.terminal_fd = -1,
		                      .rootfs = config->rootfs,
		                      .workspace = config->workspace,
		                      .environments = config->environments,
		                      .branching = config->branching,
		                      .cgroup = config->cgroup };
	int r = aj_plan_build(&p->jail_plan, &p->arena, config->policy, &request, config->host, err);
	request.zygote = true;
	if (r == 0)
		r = aj_plan_build(&p->zygote_plan, &p->arena, config->policy, &request, config->host, err);
	if (r == 0)
		r = set_cold_why(p, err);
	if (r < 0) {
		aj_arena_free(&p->arena);
		free(p);
		return NULL;
	}
	aj_pool_fill(p);
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
	aj_zygote_end(&p->zygote);
	struct aj_jails *unused[] = { &p->parked, &p->starting };
	for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
		for (struct aj_jail *jail; (jail = LIST_FIRST(unused[i]));) {
			LIST_REMOVE(jail, listed);
			aj_pool_end(p, jail);
		}
	p->counts.parked = p->starting_count = 0;
	aj_fail(&err, AJ_EXIT_SETUP, "pool", 0, "it is closed");
	aj_pool_fail_waiters(p, &err);
}

void aj_pool_free(struct aj_pool *p)
{
	aj_pool_retire(p);
	/* Groups first: then no single end below has to wait for its group. */
	aj_fork_groups_stop(&p->groups);
	for (struct aj_jail *jail = LIST_FIRST(&p->ending), *next; jail; jail = next) {
		next = LIST_NEXT(jail, listed);
		free_ended(jail);
	}
	aj_fork_groups_free(&p->groups);
	aj_arena_free(&p->arena);
	free(p);
}

unsigned aj_pool_used(const struct aj_pool *p)
{
	return p->used;
}

/* A dead jail must not be handed out, although its end was not reported yet. */
static bool is_alive(const struct aj_jail *jail)
{
	return !aj_pidfd_ended(jail->process.init_pidfd);
}

static struct aj_jail *find_parked(const struct aj_pool *p)
{
	struct aj_jail *jail;
	LIST_FOREACH(jail, &p->parked, listed)
		if (is_alive(jail))
			return jail;
	return NULL;
}

void aj_pool_request(struct aj_pool *p, struct aj_jail_waiter *waiter)
{
	TAILQ_INSERT_TAIL(&p->waiters, waiter, queued);
	p->counts.asked++;
	struct aj_jail *jail = TAILQ_FIRST(&p->waiters) == waiter ? find_parked(p) : NULL;
	if (!jail) {
		aj_pool_fill(p);
		return;
	}
	LIST_REMOVE(jail, listed);
	p->counts.parked--;
	if (!p->refill.place)
		aj_loop_set(p->loop, &p->refill, aj_now_us() + REFILL_US);
	aj_pool_give(p, jail);
}

void aj_pool_cancel(struct aj_pool *p, struct aj_jail_waiter *waiter)
{
	if (!aj_fork_groups_cancel(&p->groups, waiter) && aj_jail_waiters_remove(&p->waiters, waiter))
		p->counts.asked--;
}

/* A branch is about to be handed out. */
static void on_branch_born(void *arg, struct aj_jail *branch)
{
	struct aj_pool *p = arg;
	(void)branch;
	p->used++;
}

static void on_branch_failed(void *arg, struct aj_jail *branch)
{
	aj_pool_end(arg, branch);
}

int aj_pool_branch(struct aj_pool *p, struct aj_jail *jail, struct aj_jail_waiter *waiter, struct aj_error *err)
{
	const struct aj_fork_owner owner = { on_branch_born, on_branch_failed, p };
	if (p->config.jails_max && aj_pool_available(p) + p->used >= p->config.jails_max)
		return aj_pool_fail_busy(p, err);
	struct aj_fork_group *group = aj_fork_group_get(&p->groups, &owner, jail, p->filters, err);
	if (!group)
		return -1;
	aj_fork_group_request(group, jail, waiter);
	return 0;
}

void aj_pool_return(struct aj_pool *p, struct aj_jail *jail)
{
	/* A jail that is gone has left its fork group already; requests for copies of it may still be queued there. */
	aj_fork_groups_lose(&p->groups, jail);
	p->used--;
	aj_pool_end(p, jail);
	aj_loop_unset(p->loop, &p->refill);
	if (p->full)
		aj_loop_unset(p->loop, &p->pause);
	aj_pool_fill(p);
}

void aj_pool_count(const struct aj_pool *p, struct aj_pool_counts *ret)
{
	*ret = p->counts;
	ret->starting = aj_pool_available(p) - p->counts.parked;
	ret->warm = p->zygote.there;
}

const struct aj_plan *aj_pool_plan(const struct aj_pool *p)
{
	return &p->jail_plan;
}
