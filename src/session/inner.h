/* What the parts of the house know of each other; nobody else includes it. */
#pragma once
#include "jail/host_ids.h"
#include "pool/pool.h"
#include "session/manager.h"
#include "session/policy_cache.h"

/* One pool: an edition of a policy, a tenant, a workspace. */
struct aj_tenant_pool {
	struct aj_tenant_pool *next;
	struct aj_manager *manager;
	struct aj_policy_version *version;
	struct aj_host host; /* the house's, with an id of the room's own */
	struct aj_id id;
	const char *policy;       /* the entry's name */
	char *tenant, *workspace; /* "" and NULL for none */
	bool branching;
	struct aj_pool *pool;
	bool stale;        /* gets no new session */
	unsigned sessions; /* that use it or wait for it */
	int64_t last_used_us;
};

struct aj_manager {
	struct aj_loop *loop;
	struct aj_manager_config config;
	struct aj_arena arena;
	struct aj_host host;
	AJ_LIST(struct aj_cached_policy) policies;
	struct aj_tenant_pool *pools;
	struct aj_timer sweep; /* rooms that nobody needs any more are torn down from the loop */
};

/* The room for a place, made when it is not there. NULL with err. The caller is counted as a session of it. */
struct aj_tenant_pool *aj_tenant_pool_get(struct aj_manager *manager, const struct aj_session_params *place, struct aj_error *err);
/* Does it get new sessions? */
bool aj_manager_current(const struct aj_tenant_pool *pool);
void aj_tenant_pool_release(struct aj_tenant_pool *pool);
/* A pool's; `room` is whose. */
void aj_manager_on_trouble(void *pool, const struct aj_error *err);
void aj_manager_log(const struct aj_manager *manager, const char *what, const struct aj_error *err);
