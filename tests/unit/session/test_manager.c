/* Tests of session/manager: what becomes of rooms when the cgroup that was found cannot be used.
 * The host is invented and no jail is started: pools of depth 0 wait to be asked. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/load/load.h"
#include "session/session_inner.h"

enum { PLAIN, OTHER, STRICT, WITHOUT, ROOMS };

static struct aj_arena arena;
static struct aj_manager manager;
static struct aj_tenant_pool pools[ROOMS];
static struct aj_policy policies[ROOMS];

static struct aj_pool *pool(const struct aj_policy *policy, struct aj_error *err)
{
	return aj_pool_new(manager.loop, &(struct aj_pool_config){ .policy = policy, .host = &manager.host, .rootfs = "/rootfs" }, err);
}

static void start(void)
{
	manager = (struct aj_manager){ .loop = aj_loop_new() };
	manager.host = (struct aj_host){ .uid = 1001, .gid = 1002, .landlock_abi = 3, .cgroup_why = "there is none" };
	memcpy(manager.host.top_links, (const char *[]){ "usr/bin", "usr/sbin", "usr/lib", "", NULL, NULL }, sizeof manager.host.top_links);
	manager.host.cgroup_controllers = AJ_CGROUP_MEMORY | AJ_CGROUP_PIDS | AJ_CGROUP_CPU;
	for (int i = 0; i < ROOMS; i++) {
		struct aj_error err = { 0 };
		aj_policy_preset(&policies[i], &arena, "snippet");
		policies[i].enforce = i == STRICT ? AJ_ENFORCE_STRICT : AJ_ENFORCE_BEST_EFFORT;
		manager.host.cgroup = i == WITHOUT ? NULL : "/cgroup/of/ours";
		static struct aj_policy_version version;
		pools[i] = (struct aj_tenant_pool){ .manager = &manager, .version = &version, .policy = "p", .sessions = 1 };
		pools[i].pool = pool(&policies[i], &err);
		cr_assert_not_null(pools[i].pool, "%s: %s", err.step, err.cause);
		LIST_INSERT_HEAD(&manager.pools, &pools[i], listed);
	}
	manager.host.cgroup = "/cgroup/of/ours";
}

static void done(void)
{
	for (int i = 0; i < ROOMS; i++)
		aj_pool_free(pools[i].pool);
	aj_loop_free(manager.loop);
	aj_arena_free(&manager.arena);
	aj_arena_free(&arena);
}
TestSuite(manager, .init = start, .fini = done);

static void fails_with(enum aj_reason reason, int errnum)
{
	struct aj_error err = { 0 };
	aj_fail_because(&err, reason, AJ_EXIT_SETUP, "cgroup", errnum, "create `/cgroup/of/ours/leaf`");
	aj_manager_on_trouble(&pools[OTHER], &err);
}

static unsigned stale(void)
{
	unsigned bits = 0;
	for (int i = 0; i < ROOMS; i++)
		bits |= (unsigned)pools[i].stale << i;
	return bits;
}

Test(manager, what_passes_takes_no_limits_away)
{
	static const int passing[] = { EMFILE, ENFILE, ENOMEM, EAGAIN, EEXIST, EINTR, ENOSPC, EIO, 0 };
	for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
		fails_with(AJ_REASON_CGROUP, passing[i]);
	fails_with(AJ_REASON_PROCESS, EACCES);
	cr_expect_not_null(manager.host.cgroup);
	cr_expect_eq(stale(), 0);
}

Test(manager, what_lasts_is_done_without_by_all_rooms)
{
	static const int lasting[] = { EACCES, EPERM, EBUSY, EROFS, ENOENT, ENODEV, EINVAL, EOPNOTSUPP };
	for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++) {
		manager.host.cgroup = "/cgroup/of/ours";
		for (int r = 0; r < ROOMS; r++)
			pools[r].stale = false;
		fails_with(AJ_REASON_CGROUP, lasting[i]);
		cr_expect_null(manager.host.cgroup, "%s", strerror(lasting[i]));
		cr_expect_eq(stale(), 1 << PLAIN | 1 << OTHER | 1 << STRICT, "%s: %x", strerror(lasting[i]), stale());
	}
	struct aj_error err = { 0 };
	struct aj_pool *again = pool(&policies[PLAIN], &err);
	cr_assert_not_null(again, "%s", err.cause);
	cr_expect_null(aj_pool_plan(again)->cgroup);
	aj_pool_free(again);
	cr_expect_null(pool(&policies[STRICT], &err), "strict limits without a cgroup");
	cr_expect(strstr(err.cause, "create `/cgroup/of/ours/leaf`"), "%s", err.cause);
}

Test(manager, one_that_was_given_is_not_done_without)
{
	manager.host.cgroup_given = true;
	fails_with(AJ_REASON_CGROUP, EACCES);
	cr_expect_not_null(manager.host.cgroup);
	cr_expect_eq(stale(), 0);
}

static unsigned told;
static char told_step[64];

static void on_opened(struct aj_session *session, void *arg, const struct aj_error *err)
{
	(void)session, (void)arg;
	told++;
	snprintf(told_step, sizeof told_step, "%s", err ? err->step : "");
}

/* A folder that looks like a tree, with nothing in it that could be started. */
static const char *no_tree(char folder[64])
{
	static const char *const below[] = { "tree", "tree/usr", "tree/usr/bin", "tree/usr/bin/python3" };
	char path[128];
	strcpy(folder, "/tmp/house-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, below[i]);
		cr_assert_eq(mkdir(path, 0755), 0);
	}
	return folder;
}

static void remove_tree(const char *folder)
{
	static const char *const below[] = { "/tree/usr/bin/python3", "/tree/usr/bin", "/tree/usr", "/tree", "" };
	char path[128];
	for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
		snprintf(path, sizeof path, "%s%s", folder, below[i]);
		cr_expect_eq(rmdir(path), 0, "%s", path);
	}
}

/* The first jail cannot have its cgroup; its session is not told so, but has one without, which fails for the tree. */
Test(manager, whoever_waited_for_a_jail_in_that_cgroup_gets_one_without)
{
	static const struct aj_session_events events = { .opened = on_opened };
	const struct aj_ask ask = { .name = "snippet" };
	struct aj_error err = { 0 };
	char folder[64];
	struct aj_loop *loop = aj_loop_new();
	struct aj_manager *real = aj_manager_new(loop, &(struct aj_manager_config){ .rootfs = no_tree(folder), .jails_max = 1 }, &err);
	cr_assert_not_null(real, "%s", err.cause);
	real->host.cgroup = "/proc/self/no/cgroup";
	real->host.cgroup_controllers = AJ_CGROUP_MEMORY | AJ_CGROUP_PIDS | AJ_CGROUP_CPU;
	cr_assert_eq(aj_manager_add_policy(real, &ask, NULL, &err), 0, "%s", err.cause);
	struct aj_session *session = aj_session_open(real, &(struct aj_session_params){ 0 }, &events, NULL, &err);
	cr_assert_not_null(session, "%s", err.cause);
	struct aj_tenant_pool *first = LIST_FIRST(&real->pools);
	while (!told)
		cr_assert_eq(aj_loop_turn(loop, INT64_MAX), 0);
	cr_expect_eq(told, 1u);
	cr_expect_null(real->host.cgroup);
	cr_expect_str_neq(told_step, "cgroup");
	struct aj_tenant_pool *second = LIST_FIRST(&real->pools);
	cr_expect(second != first && !second->stale && !aj_pool_plan(second->pool)->cgroup);
	aj_session_close(session);
	aj_manager_free(real);
	aj_loop_free(loop);
	remove_tree(folder);
}
