/* Requests for branches of one fork group: makes one branch after the other for the waiters.
 * Never hands out a branch that is not armed, and keeps none whose waiter has cancelled. */
#include <stdlib.h>

#include "base/fd.h"
#include "jail/fork/fork_inner.h"

static void notify(struct aj_jail_waiter *waiter, struct aj_jail *branch, const struct aj_error *err)
{
	if (waiter)
		waiter->fn(waiter, branch, err);
}

/* The waiter of the branch under way, which has come to its end. */
static struct aj_jail_waiter *take_waiter(struct aj_fork_group *g)
{
	struct aj_jail_waiter *waiter = g->waiter;
	g->waiter = NULL;
	return waiter;
}

static void on_arming(struct aj_jail *branch, unsigned found)
{
	struct aj_fork_group *g = branch->owner;
	if (!(found & (AJ_JAIL_ARMED | AJ_JAIL_GONE)))
		return;
	struct aj_jail_waiter *waiter = take_waiter(g);
	g->arming = NULL;
	aj_fork_group_changed(g);
	if (found & AJ_JAIL_GONE) {
		struct aj_error err = branch->outcome.result.setup;
		aj_fail(&err, AJ_EXIT_SETUP, "branch", 0, "it ended before it was used: %s", branch->outcome.result.reason);
		g->owner.failed(g->owner.arg, branch);
		notify(waiter, NULL, &err);
	} else if (!waiter) {
		g->owner.failed(g->owner.arg, branch);
	} else {
		aj_jail_limit(branch, INT64_MAX);
		g->owner.born(g->owner.arg, branch);
		notify(waiter, branch, NULL);
	}
}

static void adopt_branch(struct aj_fork_group *g)
{
	struct aj_jail *branch = calloc(1, sizeof *branch);
	if (!branch)
		abort();
	branch->loop = g->loop;
	branch->built.plan = g->plan;
	branch->policy = g->policy;
	branch->lasting = true;
	branch->warm = g->now.source && g->now.source->warm;
	branch->process = aj_fork_take(g);
	branch->on_event = on_arming;
	branch->owner = g;
	if (aj_jail_open(branch, g->own_filters) < 0) {
		struct aj_error err = branch->outcome.result.setup;
		aj_fail(&err, AJ_EXIT_SETUP, "branch", 0, "it cannot be watched");
		aj_jail_free(branch);
		free(branch);
		g->now.state = AJ_BRANCH_NONE;
		aj_fork_group_changed(g);
		notify(take_waiter(g), NULL, &err);
		return;
	}
	g->arming = branch;
	aj_fork_group_join(g, branch);
	aj_jail_limit(branch, aj_now_us() + AJ_ARM_US);
}

void aj_fork_requests_settle(struct aj_fork_group *g)
{
	if (g->now.err.exit_code) {
		struct aj_error err = g->now.err;
		g->now.err = (struct aj_error){ 0 };
		notify(take_waiter(g), NULL, &err);
	} else if (g->now.state == AJ_BRANCH_BORN) {
		adopt_branch(g);
	}
}

void aj_fork_requests_next(struct aj_fork_group *g)
{
	while (!TAILQ_EMPTY(&g->waiters) && !g->waiter && !g->arming && g->now.state == AJ_BRANCH_NONE) {
		struct aj_jail_waiter *waiter = aj_jail_waiters_take(&g->waiters);
		struct aj_error err = { 0 };
		if (aj_fork_begin(g, waiter->of, &err) < 0)
			notify(waiter, NULL, &err);
		else
			g->waiter = waiter;
	}
}

void aj_fork_group_request(struct aj_fork_group *g, struct aj_jail *source, struct aj_jail_waiter *waiter)
{
	waiter->of = source;
	TAILQ_INSERT_TAIL(&g->waiters, waiter, queued);
	aj_fork_group_changed(g);
}

bool aj_fork_groups_cancel(const struct aj_fork_groups *list, struct aj_jail_waiter *waiter)
{
	struct aj_fork_group *g;
	LIST_FOREACH(g, list, listed) {
		if (aj_jail_waiters_remove(&g->waiters, waiter))
			return true;
		if (g->waiter == waiter) {
			g->waiter = NULL;
			return true;
		}
	}
	return false;
}

static struct aj_jail_waiter *find_waiter_for(const struct aj_fork_group *g, const struct aj_jail *source)
{
	struct aj_jail_waiter *waiter;
	TAILQ_FOREACH(waiter, &g->waiters, queued)
		if (waiter->of == source)
			return waiter;
	return NULL;
}

/* A callback may cancel other queued requests. */
void aj_fork_groups_lose(const struct aj_fork_groups *list, struct aj_jail *source)
{
	struct aj_error err = { 0 };
	struct aj_fork_group *g;
	aj_fail(&err, AJ_EXIT_USAGE, "branch", 0, "the original was closed");
	LIST_FOREACH(g, list, listed)
		for (struct aj_jail_waiter *waiter; (waiter = find_waiter_for(g, source));) {
			TAILQ_REMOVE(&g->waiters, waiter, queued);
			notify(waiter, NULL, &err);
		}
}

void aj_fork_requests_drop(struct aj_fork_group *g)
{
	struct aj_error err = { 0 };
	aj_fail(&err, AJ_EXIT_SETUP, "branch", 0, "the jail and all its branches have ended");
	notify(take_waiter(g), NULL, &err);
	for (struct aj_jail_waiter *waiter; (waiter = aj_jail_waiters_take(&g->waiters));)
		notify(waiter, NULL, &err);
}

void aj_fork_requests_stop(struct aj_fork_group *g)
{
	struct aj_jail *branch = g->arming;
	TAILQ_INIT(&g->waiters);
	g->waiter = NULL;
	g->arming = NULL;
	aj_fork_fail(g, 0, "its requester has withdrawn the request");
	g->now.err = (struct aj_error){ 0 };
	if (branch)
		g->owner.failed(g->owner.arg, branch);
}
