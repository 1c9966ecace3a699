/* Jails started in advance for one policy and one tenant. Each is used once, for one snippet or one session.
 * Where the plan cannot have a zygote (aj_plan_warm_why_not()), jails start cold, on request. */
#pragma once
#include "jail/jail.h"
#include "jail/waiter.h"
#include "policy/plan/plan.h"

struct aj_pool;

struct aj_pool_config {
	const struct aj_policy *policy; /* the owner's, until the pool is freed */
	const struct aj_host *host;
	const char *rootfs, *workspace; /* of the request; workspace may be NULL */
	struct aj_environments environments;
	bool branching;     /* of the request */
	const char *cgroup; /* a delegated cgroup; NULL: look for one */
	unsigned depth;     /* jails to keep parked */
	unsigned jails_max; /* alive at a time, parked ones included; 0: no limit */
	unsigned ready_ms;  /* for a zygote's imports; 0: a minute */
	/* An event worth a log line: a zygote died or could not import a module, a birth failed. May be NULL. */
	void (*on_trouble)(void *arg, const struct aj_error *err);
	void *trouble_arg;
};

struct aj_pool_counts {
	unsigned parked, starting, asked; /* ready; starting or ordered; waiters in the queue */
	bool warm;                        /* the zygote is alive */
	const char *cold_why;             /* why jails start cold, or NULL */
	uint64_t births, failures, zygote_deaths;
};

/* NULL with err if no jail can be built under this plan. Starts the zygote at once if `depth` > 0, else with the first waiter. */
struct aj_pool *aj_pool_new(struct aj_loop *loop, const struct aj_pool_config *config, struct aj_error *err);
/* End the zygote and the parked jails now, and fail the waiters. Jails that were given away need the pool's policy and plan, so
 * free the pool when aj_pool_used() is 0. */
void aj_pool_retire(struct aj_pool *pool);
void aj_pool_free(struct aj_pool *pool);
/* Jails that were given away and not returned. */
unsigned aj_pool_used(const struct aj_pool *pool);

/* Request a jail. An error whose step is "busy": jails_max jails are given away. */
void aj_pool_request(struct aj_pool *pool, struct aj_jail_waiter *waiter);
/* Cancel a request. */
void aj_pool_cancel(struct aj_pool *pool, struct aj_jail_waiter *waiter);
/* Request a copy of a jail that was given away; it must stay idle until the waiter is called, from the loop. The copy has its own
 * memory, scratch space and channels, and is returned like any jail. Returning `jail` meanwhile fails the request. -1 with err:
 * nothing has begun. */
int aj_pool_branch(struct aj_pool *pool, struct aj_jail *jail, struct aj_jail_waiter *waiter, struct aj_error *err);
/* Return a jail that is not needed any more, or gone: it is ended and freed later. */
void aj_pool_return(struct aj_pool *pool, struct aj_jail *jail);

void aj_pool_count(const struct aj_pool *pool, struct aj_pool_counts *ret);
const struct aj_plan *aj_pool_plan(const struct aj_pool *pool);
