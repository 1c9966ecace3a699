/* Keeps policies and the pools behind them: one for each policy version, tenant and workspace.
 * An outdated version gets no new session, and its pool is removed when its last session has ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "session/session_inner.h"
#include "workspace/location.h"

void aj_manager_log(const struct aj_manager *manager, const char *subject, const struct aj_error *err)
{
	char text[900], line[1100];
	if (!manager->config.log)
		return;
	snprintf(line, sizeof line, "%s: %s", subject, aj_error_text(err, text, sizeof text));
	manager->config.log(manager->config.log_arg, line);
}

static void free_pool(struct aj_tenant_pool *pool)
{
	LIST_REMOVE(pool, listed);
	aj_pool_free(pool->pool);
	aj_common_free(&pool->common);
	aj_id_give(&pool->id);
	aj_policy_version_release(pool->version);
	aj_arena_free(&pool->arena);
	free(pool);
}

bool aj_manager_current(const struct aj_tenant_pool *pool)
{
	if (pool->stale)
		return false;
	for (size_t i = 0; i < pool->manager->policies.count; i++)
		if (pool->manager->policies.items[i].current == pool->version)
			return true;
	return false;
}

/* Pools of old policy versions, and of workspaces, end with their last session. */
static void on_sweep(struct aj_timer *timer)
{
	struct aj_manager *manager = timer->arg;
	for (struct aj_tenant_pool *pool = LIST_FIRST(&manager->pools), *next; pool; pool = next) {
		next = LIST_NEXT(pool, listed);
		if (pool->stale)
			aj_pool_retire(pool->pool);
		if (pool->sessions == 0 && aj_pool_used(pool->pool) == 0 && (pool->workspace || !aj_manager_current(pool)))
			free_pool(pool);
	}
}

struct aj_manager *aj_manager_new(struct aj_loop *loop, const struct aj_manager_config *config, struct aj_error *err)
{
	struct aj_manager *manager = calloc(1, sizeof *manager);
	if (!manager)
		abort();
	manager->loop = loop;
	manager->config = *config;
	manager->sweep = (struct aj_timer){ .fn = on_sweep, .arg = manager };
	TAILQ_INIT(&manager->collecting);
	if (aj_host_gather(&manager->host, &manager->arena, config->cgroup, err) < 0) {
		aj_arena_free(&manager->arena);
		free(manager);
		return NULL;
	}
	return manager;
}

void aj_manager_free(struct aj_manager *manager)
{
	aj_loop_unset(manager->loop, &manager->sweep);
	aj_loop_unset(manager->loop, &manager->collect);
	for (struct aj_tenant_pool *pool = LIST_FIRST(&manager->pools), *next; pool; pool = next) {
		next = LIST_NEXT(pool, listed);
		free_pool(pool);
	}
	for (size_t i = 0; i < manager->policies.count; i++)
		aj_policy_version_release(manager->policies.items[i].current);
	aj_arena_free(&manager->arena);
	free(manager);
}

/* One line for a version that allows modules which undo the import check. */
static void log_exits(const struct aj_manager *manager, struct aj_policy_version *version)
{
	struct aj_diags diags = { .arena = &version->arena };
	struct aj_error err = { 0 };
	aj_policy_lint_modules(&version->loaded, NULL, &diags);
	if (!diags.warnings)
		return;
	aj_fail(&err, 0, "imports", 0, "%s; `agentjail policy check` shows all warnings", diags.list.items[0].message);
	aj_manager_log(manager, version->loaded.policy.name, &err);
}

/* The version in use while it is fresh, else a new one. */
static struct aj_policy_version *current_version(struct aj_manager *manager, struct aj_cached_policy *entry, struct aj_error *err)
{
	if (entry->current && aj_policy_version_fresh(entry->current))
		return entry->current;
	struct aj_policy_version *old = entry->current;
	entry->current = aj_policy_version_read(manager->config.site, entry->ask, manager->config.rootfs, err);
	struct aj_tenant_pool *pool;
	LIST_FOREACH(pool, &manager->pools, listed)
		if (old && pool->version == old)
			aj_pool_retire(pool->pool);
	aj_policy_version_release(old);
	if (entry->current)
		log_exits(manager, entry->current);
	aj_loop_set(manager->loop, &manager->sweep, aj_now_us());
	return entry->current;
}

int aj_manager_add_policy(struct aj_manager *manager, const struct aj_ask *ask, const char *name, struct aj_error *err)
{
	struct aj_cached_policy entry = { .ask = ask };
	if (!current_version(manager, &entry, err))
		return -1;
	entry.name = aj_strdup(&manager->arena, name ? name : entry.current->loaded.policy.name);
	for (size_t i = 0; i < manager->policies.count; i++)
		if (strcmp(manager->policies.items[i].name, entry.name) == 0) {
			aj_policy_version_release(entry.current);
			return aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0, "two policies are called `%s`",
			                       entry.name);
		}
	*AJ_PUSH(&manager->arena, &manager->policies) = entry;
	return 0;
}

size_t aj_manager_policies(const struct aj_manager *manager)
{
	return manager->policies.count;
}

const char *aj_manager_policy_name(const struct aj_manager *manager, size_t index)
{
	return manager->policies.items[index].name;
}

static struct aj_cached_policy *find_policy(struct aj_manager *manager, const char *name, struct aj_error *err)
{
	for (size_t i = 0; i < manager->policies.count; i++)
		if (!name || strcmp(manager->policies.items[i].name, name) == 0)
			return &manager->policies.items[i];
	aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0,
	                name ? "no policy is called `%s` here" : "no policy is served here", name);
	return NULL;
}

void aj_manager_on_trouble(void *arg, const struct aj_error *err)
{
	struct aj_tenant_pool *pool = arg;
	struct aj_manager *manager = pool->manager;
	aj_manager_log(manager, pool->policy, err);
	/* As `exec` does. A policy that demands a cgroup gets no new pool then. */
	if (!aj_host_drop_cgroup(&manager->host, &manager->arena, err))
		return;
	/* This pool's plan names the unusable cgroup, and so may others'. */
	pool->stale = true;
	struct aj_tenant_pool *other;
	LIST_FOREACH(other, &manager->pools, listed)
		if (aj_pool_plan(other->pool)->cgroup) {
			other->stale = true;
			other->version->limits_reported = false;
		}
	aj_loop_set(manager->loop, &manager->sweep, aj_now_us());
}

/* Once for each version, and again when its jails have lost their cgroups. */
static void report_limits(const struct aj_tenant_pool *pool, const struct aj_ask *ask)
{
	const struct aj_manager_config *config = &pool->manager->config;
	struct aj_arena arena = { 0 };
	for (size_t i = 0; config->unenforced && !pool->version->limits_reported && i < ask->settings.count; i++) {
		const struct aj_setting *set = &ask->settings.items[i];
		const char *line = aj_plan_unenforced(aj_pool_plan(pool->pool), set->key, set->option, set->value, &arena);
		if (line)
			config->unenforced(config->unenforced_arg, pool->policy, line);
	}
	pool->version->limits_reported = true;
	aj_arena_free(&arena);
}

/* At the limit the least recently used of the pools without sessions is freed. */
static int evict_pool(struct aj_manager *manager, struct aj_error *err)
{
	unsigned count = 0;
	struct aj_tenant_pool *pool, *oldest = NULL;
	LIST_FOREACH(pool, &manager->pools, listed) {
		count++;
		bool unused = pool->sessions == 0 && aj_pool_used(pool->pool) == 0;
		if (unused && (!oldest || pool->last_used_us < oldest->last_used_us))
			oldest = pool;
	}
	if (!manager->config.pools_max || count < manager->config.pools_max)
		return 0;
	if (!oldest) {
		aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_LIMIT, "busy", 0,
		                "%u pairs of policy and tenant are in use, which is the limit", count);
		aj_advise(err, "close the sessions of one pair, or raise --pools-max");
		return -1;
	}
	free_pool(oldest);
	return 0;
}

static struct aj_tenant_pool *new_pool(struct aj_manager *manager, const struct aj_cached_policy *entry, const char *tenant,
                                       const struct aj_request *request, struct aj_error *err)
{
	if (evict_pool(manager, err) < 0)
		return NULL;
	struct aj_tenant_pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		abort();
	pool->manager = manager;
	pool->host = manager->host;
	if (aj_id_take(&pool->id, &pool->host, &entry->current->site, err) < 0) {
		free(pool);
		return NULL;
	}
	struct aj_pool_config config = { .policy = &entry->current->loaded.policy,
		                         .host = &pool->host,
		                         .rootfs = entry->current->rootfs,
		                         .branching = request->branching,
		                         .cgroup = manager->config.cgroup,
		                         .depth = manager->config.parked,
		                         .jails_max = manager->config.jails_max,
		                         .ready_ms = manager->config.ready_ms,
		                         .on_trouble = aj_manager_on_trouble,
		                         .trouble_arg = pool };
	pool->policy = entry->name;
	pool->tenant = aj_strdup(&pool->arena, tenant);
	pool->workspace = request->workspace ? aj_strdup(&pool->arena, request->workspace) : NULL;
	for (size_t i = 0; i < request->environments.count; i++)
		*AJ_PUSH(&pool->arena, &pool->environments) = aj_strdup(&pool->arena, request->environments.items[i]);
	pool->branching = request->branching;
	config.workspace = pool->workspace;
	config.environments = pool->environments;
	pool->pool = aj_pool_new(manager->loop, &config, err);
	if (!pool->pool) {
		aj_id_give(&pool->id);
		aj_arena_free(&pool->arena);
		free(pool);
		return NULL;
	}
	if (aj_pool_plan(pool->pool)->host_uid != pool->id.id)
		aj_id_give(&pool->id); /* the plan does not use the id */
	pool->version = entry->current;
	pool->version->references++;
	LIST_INSERT_HEAD(&manager->pools, pool, listed);
	report_limits(pool, entry->ask);
	return pool;
}

static bool same_environments(const struct aj_environments *a, const struct aj_environments *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	return true;
}

/* Checks the workspace anew for each session: its path may lead elsewhere by now, and agentjail may have been installed in it. */
static struct aj_tenant_pool *get_pool(struct aj_manager *manager, const struct aj_session_params *asked, struct aj_arena *arena,
                                       struct aj_error *err)
{
	const char *tenant = asked->tenant ? asked->tenant : "";
	struct aj_cached_policy *entry = find_policy(manager, asked->policy, err);
	if (!entry || !current_version(manager, entry, err))
		return NULL;
	struct aj_request request = {
		.workspace = asked->workspace, .rootfs = entry->current->rootfs, .branching = asked->branching, .may_hold = true
	};
	if (aj_places_check(&request, &entry->current->loaded, &entry->current->site, arena, err) < 0)
		return NULL;
	struct aj_tenant_pool *pool = LIST_FIRST(&manager->pools);
	while (pool && (pool->stale || pool->version != entry->current || pool->branching != request.branching ||
	                strcmp(pool->tenant, tenant) != 0 ||
	                strcmp(pool->workspace ? pool->workspace : "", request.workspace ? request.workspace : "") != 0 ||
	                !same_environments(&pool->environments, &request.environments)))
		pool = LIST_NEXT(pool, listed);
	if (!pool)
		pool = new_pool(manager, entry, tenant, &request, err);
	if (pool) {
		pool->sessions++;
		pool->last_used_us = aj_now_us();
	}
	return pool;
}

struct aj_tenant_pool *aj_tenant_pool_get(struct aj_manager *manager, const struct aj_session_params *place, struct aj_error *err)
{
	struct aj_arena arena = { 0 };
	struct aj_tenant_pool *pool = get_pool(manager, place, &arena, err);
	aj_arena_free(&arena);
	return pool;
}

void aj_tenant_pool_release(struct aj_tenant_pool *pool)
{
	pool->last_used_us = aj_now_us();
	if (--pool->sessions == 0 && (pool->workspace || !aj_manager_current(pool)))
		aj_loop_set(pool->manager->loop, &pool->manager->sweep, aj_now_us());
}

void aj_manager_count(const struct aj_manager *manager, struct aj_manager_counts *ret)
{
	const struct aj_tenant_pool *pool;
	*ret = (struct aj_manager_counts){ 0 };
	LIST_FOREACH(pool, &manager->pools, listed) {
		struct aj_pool_counts c;
		aj_pool_count(pool->pool, &c);
		ret->jails += c.parked + c.starting + aj_pool_used(pool->pool);
		ret->parked += c.parked;
		ret->starting += c.starting;
		ret->waiting += c.asked;
		ret->zygotes += c.warm;
		ret->zygote_deaths += c.zygote_deaths;
		ret->births += c.births;
		ret->failures += c.failures;
	}
}

json_t *aj_manager_stats(const struct aj_manager *manager)
{
	struct aj_manager_counts sum;
	json_t *pools = json_array();
	aj_manager_count(manager, &sum);
	const struct aj_tenant_pool *pool;
	LIST_FOREACH(pool, &manager->pools, listed) {
		struct aj_pool_counts c;
		aj_pool_count(pool->pool, &c);
		json_array_append_new(pools, json_pack("{s:s, s:s, s:s?, s:b, s:s?, s:i, s:i, s:i, s:i, s:i}", "policy",
		                                       pool->policy, "tenant", pool->tenant, "workspace", pool->workspace, "warm",
		                                       c.warm, "cold_because", c.cold_why, "parked", (int)c.parked, "starting",
		                                       (int)c.starting, "waiting", (int)c.asked, "used",
		                                       (int)aj_pool_used(pool->pool), "sessions", (int)pool->sessions));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "jails", (json_int_t)sum.jails, "parked",
	                 (json_int_t)sum.parked, "starting", (json_int_t)sum.starting, "waiting", (json_int_t)sum.waiting,
	                 "zygotes", (json_int_t)sum.zygotes, "zygote_deaths", (json_int_t)sum.zygote_deaths, "births",
	                 (json_int_t)sum.births, "failures", (json_int_t)sum.failures, "pools", pools);
}
