/* Tests of plan/pack: what goes into a zygote comes out the same, and bytes that are no plan are refused wherever they end. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "policy/plan/pack.h"

static struct aj_arena arena;
static struct aj_plan plan;

static void start(void)
{
	plan = (struct aj_plan){ .uid = 1000,
		                 .gid = 1001,
		                 .namespaces = CLONE_NEWUSER | CLONE_NEWNS,
		                 .profile = AJ_PROFILE_SNIPPET,
		                 .deny = AJ_DENY_THREADS | AJ_DENY_FORK,
		                 .network = AJ_NET_NONE,
		                 .landlock_abi = 7,
		                 .hostname = "jail",
		                 .chdir = "/tmp" };
	*AJ_PUSH(&arena, &plan.mounts) = (struct aj_mount){
		.kind = AJ_MOUNT_BIND, .target = "/usr", .source = "/x", .flags = AJ_RO, .why = "Python"
	};
	*AJ_PUSH(&arena, &plan.mounts) = (struct aj_mount){ .kind = AJ_MOUNT_TMPFS,
		                                            .target = "/tmp",
		                                            .source = "",
		                                            .flags = AJ_NOEXEC,
		                                            .mode = 01777,
		                                            .size_bytes = 1 << 20,
		                                            .inodes = 99,
		                                            .why = "" };
	*AJ_PUSH(&arena,
	         &plan.rlimits) = (struct aj_rlimit){ .name = "RLIMIT_NOFILE", .resource = RLIMIT_NOFILE, .value = 64, .soft = 32 };
}

static void done(void)
{
	aj_arena_free(&arena);
}
TestSuite(pack, .init = start, .fini = done);

Test(pack, there_and_back)
{
	size_t bytes;
	struct aj_plan got;
	char *data = aj_plan_pack(&plan, &bytes);
	cr_assert_not_null(data);
	cr_assert_eq(aj_plan_unpack(&got, data, bytes), 0);
	cr_expect_eq(got.uid, 1000);
	cr_expect_eq(got.gid, 1001);
	cr_expect_eq(got.namespaces, plan.namespaces);
	cr_expect_eq(got.profile, plan.profile);
	cr_expect_eq(got.deny, plan.deny);
	cr_expect_eq(got.network, plan.network);
	cr_expect_eq(got.landlock_abi, 7);
	cr_expect_str_eq(got.hostname, "jail");
	cr_expect_str_eq(got.chdir, "/tmp");
	cr_assert_eq(got.mounts.count, 2);
	cr_expect_str_eq(got.mounts.items[0].target, "/usr");
	cr_expect_eq(got.mounts.items[0].flags, AJ_RO);
	cr_expect_not(aj_mount_is_scratch(&got.mounts.items[0]));
	cr_expect(aj_mount_is_scratch(&got.mounts.items[1]));
	cr_expect_eq(got.mounts.items[1].mode, 01777);
	cr_expect_eq(got.mounts.items[1].size_bytes, 1 << 20);
	cr_expect_eq(got.mounts.items[1].inodes, 99);
	cr_assert_eq(got.rlimits.count, 1);
	cr_expect_str_eq(got.rlimits.items[0].name, "RLIMIT_NOFILE");
	cr_expect_eq(got.rlimits.items[0].resource, RLIMIT_NOFILE);
	cr_expect_eq(got.rlimits.items[0].value, 64);
	cr_expect(got.snippet && got.control_fd && got.capture);
}

Test(pack, cut_or_longer)
{
	size_t bytes;
	char *data = aj_plan_pack(&plan, &bytes);
	for (size_t n = 0; n < bytes; n++) {
		/* In room of its own, so that a sanitizer sees a read beyond. */
		char *cut = malloc(n + 1);
		struct aj_plan got;
		memcpy(cut, data, n);
		cr_expect_eq(aj_plan_unpack(&got, cut, n), -1, "%zu of %zu bytes are no plan", n, bytes);
		free(cut);
	}
	char *longer = malloc(bytes + 1);
	struct aj_plan got;
	memcpy(longer, data, bytes);
	longer[bytes] = 0;
	cr_expect_eq(aj_plan_unpack(&got, longer, bytes + 1), -1);
}

/* Every byte changed in turn: accepted or refused, never read beyond. */
Test(pack, changed)
{
	size_t bytes;
	char *data = aj_plan_pack(&plan, &bytes);
	for (size_t i = 0; i < bytes; i++) {
		struct aj_plan got;
		char before = data[i];
		data[i] = (char)0xff;
		aj_plan_unpack(&got, data, bytes);
		data[i] = before;
	}
	struct aj_plan got;
	cr_expect_eq(aj_plan_unpack(&got, data, bytes), 0);
}

/* The first fields are uid and gid, the eighth is a bool. */
Test(pack, numbers_that_their_fields_cannot_hold)
{
	static const struct {
		size_t field;
		uint64_t number;
		int r;
	} rows[] = { { 0, UINT32_MAX, 0 }, { 0, 1ULL << 32, -1 }, { 1, UINT64_MAX, -1 },
		     { 2, UINT64_MAX, 0 }, { 7, 1, 0 },           { 7, 2, -1 } };
	size_t bytes;
	char *data = aj_plan_pack(&plan, &bytes);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_plan got;
		uint64_t before;
		char *at = data + rows[i].field * sizeof before;
		memcpy(&before, at, sizeof before);
		memcpy(at, &rows[i].number, sizeof before);
		cr_expect_eq(aj_plan_unpack(&got, data, bytes), rows[i].r, "row %zu", i);
		memcpy(at, &before, sizeof before);
	}
}

Test(pack, what_cannot_be_warm_says_why)
{
	struct aj_plan warm = plan;
	warm.snippet = true;
	warm.namespaces |= CLONE_NEWNET;
	cr_expect_null(aj_plan_warm_why_not(&warm));
	warm.snippet = false;
	cr_expect_not_null(aj_plan_warm_why_not(&warm));
	warm.snippet = true;
	warm.network = AJ_NET_LOOPBACK;
	cr_expect_not_null(aj_plan_warm_why_not(&warm));
	warm.network = AJ_NET_NONE;
	warm.mounts.items[0].flags = 0;
	cr_expect_not_null(aj_plan_warm_why_not(&warm), "a writable folder");
	warm.mounts.items[0] = (struct aj_mount){ .kind = AJ_MOUNT_PROC, .target = "/proc", .flags = AJ_RO };
	cr_expect_not_null(aj_plan_warm_why_not(&warm), "/proc");
}
