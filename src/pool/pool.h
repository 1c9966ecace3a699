/* Jails that are ready before they are asked for: one policy, one tenant. Each is used once, for one snippet or one session.
 * Where the plan cannot be kept warm (aj_plan_warm_why_not()) jails are started from nothing when they are asked for. */
#pragma once
#include "plan/plan.h"
#include "pool/queue.h"
#include "pool/worker.h"

struct aj_pool;

struct aj_pool_config {
	const struct aj_policy *policy; /* the owner's, until the pool is freed */
	const struct aj_host *host;
	const char *rootfs, *workspace; /* of the request; workspace may be NULL */
	bool branching;                 /* of the request */
	const char *cgroup;             /* given; NULL to look for one */
	unsigned depth;                 /* jails to keep parked */
	unsigned jails_max;             /* alive at a time, parked ones included; 0: no limit */
	unsigned ready_ms;              /* that a zygote may take for what it imports; 0: a minute */
	/* Something happened that may be worth a line in a log: a zygote died, a birth failed. May be NULL. */
	void (*on_trouble)(void *arg, const struct aj_error *err);
	void *trouble_arg;
};

struct aj_pool_counts {
	unsigned parked, starting, asked; /* ready; on their way; askers that wait */
	bool warm;                        /* there is a zygote */
	const char *cold_why;             /* NULL, or why jails are started from nothing */
	uint64_t births, failures, zygote_deaths;
};

/* NULL with err when no jail can be built under this plan. Starts its zygote at once when `depth` > 0, else with the first
 * asker. */
struct aj_pool *aj_pool_new(struct aj_loop *loop, const struct aj_pool_config *config, struct aj_error *err);
/* End zygote and parked jails, now. Jails that were given away live on; the pool must outlive them only by its policy and plan,
 * so free it when aj_pool_used() is 0. Askers that wait are told. */
void aj_pool_retire(struct aj_pool *pool);
void aj_pool_free(struct aj_pool *pool);
/* Jails that were given away and were not returned. */
unsigned aj_pool_used(const struct aj_pool *pool);

/* An error whose step is "busy": as many as may be alive were given away. */
void aj_pool_ask(struct aj_pool *pool, struct aj_waiter *asker);
/* An asker that does not want one any more. */
void aj_pool_unask(struct aj_pool *pool, struct aj_waiter *asker);
/* Like aj_pool_ask(), for a copy of a jail that was given away and is idle; it must stay so until the asker is told. The copy was
 * given its own memory, scratch space and channels, and is returned as every other one is. `worker` may be returned meanwhile: then
 * there is an error. The asker is told later, from the loop. -1 with err: nothing was begun. */
int aj_pool_branch(struct aj_pool *pool, struct aj_worker *worker, struct aj_waiter *asker, struct aj_error *err);
/* A jail that was given away is not needed any more, or is gone: it is ended and freed, some time later. */
void aj_pool_return(struct aj_pool *pool, struct aj_worker *worker);

void aj_pool_count(const struct aj_pool *pool, struct aj_pool_counts *ret);
const struct aj_plan *aj_pool_plan(const struct aj_pool *pool);
