/* Private to src/session/: the session manager's own structs. */
#pragma once
#include "jail/host_ids.h"
#include "jail/jail.h"
#include "jail/pool/pool.h"
#include "session/manager.h"
#include "session/policy_cache.h"

/* One pool: a policy version, a tenant, a workspace. */
struct aj_tenant_pool {
	LIST_ENTRY(aj_tenant_pool) listed;
	struct aj_manager *manager;
	struct aj_policy_version *version;
	struct aj_host host; /* the manager's, with the pool's own id */
	struct aj_id id;
	const char *policy; /* name in the policy cache */
	struct aj_arena arena;
	const char *tenant, *workspace; /* "" and NULL: none */
	struct aj_environments environments;
	bool branching;
	struct aj_pool *pool;
	struct aj_common common; /* of its jails' results */
	bool stale;              /* gets no new session */
	unsigned sessions;       /* that use the pool or wait for it */
	int64_t last_used_us;
};

struct aj_manager {
	struct aj_loop *loop;
	struct aj_manager_config config;
	struct aj_arena arena;
	struct aj_host host;
	AJ_LIST(struct aj_cached_policy) policies;
	LIST_HEAD(, aj_tenant_pool) pools;
	TAILQ_HEAD(, aj_session) collecting; /* sessions whose files are read, in turn */
	struct aj_timer collect;             /* the next turn */
	struct aj_timer sweep;               /* unused pools are freed from the loop */
};

/* The pool for these parameters, made when there is none. NULL with err. Counts the caller as a session of the pool. */
struct aj_tenant_pool *aj_tenant_pool_get(struct aj_manager *manager, const struct aj_session_params *place,
                                          struct aj_error *err);
/* Does the pool get new sessions? */
bool aj_manager_current(const struct aj_tenant_pool *pool);
void aj_tenant_pool_release(struct aj_tenant_pool *pool);
/* on_trouble of a struct aj_pool; `pool` is its struct aj_tenant_pool. */
void aj_manager_on_trouble(void *pool, const struct aj_error *err);
void aj_manager_log(const struct aj_manager *manager, const char *subject, const struct aj_error *err);
