/* Private to src/jail/pool/: a pool's own struct. */
#pragma once
#include "jail/fork/group.h"
#include "jail/pool/pool.h"
#include "jail/pool/pool_zygote.h"

LIST_HEAD(aj_jails, aj_jail);

struct aj_pool {
	struct aj_loop *loop;
	struct aj_pool_config config;
	struct aj_arena arena;
	struct aj_plan jail_plan, zygote_plan;
	int filters;
	bool retired;
	struct aj_zygote zygote;
	struct aj_jails parked;   /* armed */
	struct aj_jails starting; /* born, not armed */
	unsigned starting_count;
	struct aj_jails ending;
	struct aj_fork_groups groups;
	struct aj_jail_waiters waiters;
	unsigned used;
	struct aj_timer pause;  /* then zygote and births are retried */
	struct aj_timer refill; /* then the parked jails are topped up */
	int64_t pause_us;
	bool full; /* paused until the end of another jail frees a resource */
	struct aj_pool_counts counts;
};

/* --- pool.c --- */
/* Fail all waiters that wait now. */
void aj_pool_fail_waiters(struct aj_pool *pool, const struct aj_error *err);
/* Give an armed jail, which is in no list, to the oldest waiter. */
void aj_pool_give(struct aj_pool *pool, struct aj_jail *jail);
/* End a jail that is in no list; it is freed when it is gone. */
void aj_pool_end(struct aj_pool *pool, struct aj_jail *jail);

/* --- supply.c --- */
void aj_pool_supply_init(struct aj_pool *pool);
/* Start as many jails as are wanted and allowed. */
void aj_pool_fill(struct aj_pool *pool);
/* Jails that are parked, starting or ordered. */
unsigned aj_pool_available(const struct aj_pool *pool);
/* jails_max is reached. Always -1. */
int aj_pool_fail_busy(const struct aj_pool *pool, struct aj_error *err);
