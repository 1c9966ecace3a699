/* Tests of plan/is_allowed: the verdicts, and that they name the key, the item and the enforcer that decide.
 * Whether they hold in a jail is for tests/e2e/explain.sh; here hosts and plans are invented. */
#include <criterion/criterion.h>
#include <string.h>

#include "policy/load/load.h"
#include "policy/plan/is_allowed.h"
#include "policy/seccomp/syscalls.h"

static struct aj_arena arena;
static struct aj_policy policy;
static struct aj_plan plan;

static void prepare(const char *preset)
{
	static struct aj_error err;
	struct aj_host host = { .uid = 1001, .gid = 1002, .landlock_abi = 3, .cgroup_why = "there is none" };
	memcpy(host.top_links, (const char *[]){ "usr/bin", "usr/sbin", "usr/lib", "", NULL, NULL }, sizeof host.top_links);
	cr_assert(aj_policy_preset(&policy, &arena, preset));
	struct aj_request request = {
		.is_snippet = !policy.exec, .inspect = true, .rootfs = "/rootfs", .command.terminal_fd = -1
	};
	cr_assert_eq(aj_plan_build(&plan, &arena, &policy, &request, &host, &err), 0, "%s", err.cause);
}

#define HOST(text) aj_answer_host(&plan, &policy, text, &arena)
#define IMPORTED(text) aj_answer_import(&policy, text, &arena)
#define CALL(text) aj_answer_syscall(&plan, &policy, text, &arena)

Test(answer, modules_that_a_request_may_ask_for)
{
	prepare("snippet");
	*AJ_PUSH(&arena, &policy.request_imports) = "xmlrpc.*";
	struct aj_answer a = IMPORTED("xmlrpc.client");
	cr_expect(a.verdict == AJ_DENIED && strstr(a.why, "may ask for `xmlrpc.*`"), "%s", a.why);
	a = IMPORTED("xmlr"); /* text that a pattern begins with is no module of it */
	cr_expect(a.verdict == AJ_DENIED && !strstr(a.why, "ask"), "%s", a.why);
	cr_expect_eq(IMPORTED("math").verdict, AJ_ALLOWED);
}

Test(answer, snippets_have_no_sockets)
{
	prepare("snippet");
	for (int mode = AJ_NET_NONE; mode <= AJ_NET_HOST; mode++) {
		policy.network = (enum aj_network)mode;
		struct aj_answer a = HOST("localhost:80");
		cr_expect(a.verdict != AJ_ALLOWED);
		cr_expect(a.by == AJ_BY_SECCOMP && strcmp(a.key, "process.exec") == 0);
	}
}

Test(answer, hosts)
{
	static const struct {
		enum aj_network network;
		const char *host;
		enum aj_answer_verdict verdict;
		size_t item;
	} rows[] = {
		{ AJ_NET_NONE, "localhost:80", AJ_DENIED, AJ_NO_ITEM },
		{ AJ_NET_NONE, "127.0.0.1:80", AJ_DENIED, AJ_NO_ITEM },
		{ AJ_NET_LOOPBACK, "localhost:80", AJ_ALLOWED, AJ_NO_ITEM },
		{ AJ_NET_LOOPBACK, "127.9.9.9:80", AJ_ALLOWED, AJ_NO_ITEM },
		{ AJ_NET_LOOPBACK, "[::1]:80", AJ_ALLOWED, AJ_NO_ITEM },
		{ AJ_NET_LOOPBACK, "127.a.example:80", AJ_DENIED, AJ_NO_ITEM },
		{ AJ_NET_LOOPBACK, "10.0.0.1:80", AJ_DENIED, AJ_NO_ITEM },
		{ AJ_NET_LOOPBACK, "localhost.a.b:80", AJ_DENIED, AJ_NO_ITEM },
		{ AJ_NET_ALLOW, "pypi.org:443", AJ_ALLOWED, 0 },
		{ AJ_NET_ALLOW, "PyPI.org.:443", AJ_ALLOWED, 0 },
		{ AJ_NET_ALLOW, "a.example.com:443", AJ_ALLOWED, 1 },
		{ AJ_NET_ALLOW, "example.com:443", AJ_DENIED, AJ_NO_ITEM },
		{ AJ_NET_ALLOW, "pypi.org:80", AJ_DENIED, AJ_NO_ITEM },
		{ AJ_NET_ALLOW, "169.254.169.254:80", AJ_DENIED, AJ_NO_ITEM },
		{ AJ_NET_ALLOW, "127.0.0.1:80", AJ_ALLOWED, AJ_NO_ITEM },
		{ AJ_NET_ALLOW, "host:5432", AJ_ALLOWED, 2 },
		{ AJ_NET_ALLOW, "host.docker.internal:5432", AJ_ALLOWED, 2 },
		{ AJ_NET_ALLOW, "host:5433", AJ_DENIED, AJ_NO_ITEM },
		{ AJ_NET_LOOPBACK, "host:5432", AJ_DENIED, AJ_NO_ITEM },
		{ AJ_NET_HOST, "anything.example:1", AJ_ALLOWED, AJ_NO_ITEM },
	};
	prepare("command");
	*AJ_PUSH(&arena, &policy.allow) = "pypi.org:443";
	*AJ_PUSH(&arena, &policy.allow) = "*.example.com:443";
	*AJ_PUSH(&arena, &policy.allow) = "host:5432";
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		policy.network = rows[i].network;
		struct aj_answer a = HOST(rows[i].host);
		cr_expect(a.verdict == rows[i].verdict && a.item == rows[i].item, "%d %s: %d %s", rows[i].network, rows[i].host,
		          a.verdict, a.why);
		cr_expect_eq(a.by == AJ_BY_NOBODY, rows[i].network == AJ_NET_HOST, "the host's network is nobody's wall");
	}
	plan.deny = AJ_DENY_SOCKETS;
	cr_expect_str_eq(HOST("a.example:1").key, "process.deny_syscalls");
}

Test(answer, host_questions)
{
	static const char *const good[] = { "a:1", "a.b-c.d:65535", "1.2.3.4:80", "[::1]:80", "[fe80::1]:443" };
	static const char *const bad[] = { "",      ":1",         "a",      "a:",    "a:0",     "a:65536", "a:1x",
		                           "a b:1", "http://a:1", "::1:80", "[]:80", "[::1:80", "a:+1",    "a\n:1" };
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(aj_host_question_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_not(aj_host_question_valid(bad[i]), "%s", bad[i]);
}

Test(answer, imports)
{
	static const struct {
		const char *patterns, *module;
		bool allowed;
	} rows[] = {
#define IMPORT(patterns, module, allowed) { patterns, module, allowed },
#include "imports.h"
#undef IMPORT
	};
	prepare("snippet");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		memset(&policy.imports, 0, sizeof policy.imports);
		for (char *save = NULL, *item = strtok_r(aj_strdup(&arena, rows[i].patterns), " ", &save); item;
		     item = strtok_r(NULL, " ", &save))
			*AJ_PUSH(&arena, &policy.imports) = item;
		struct aj_answer a = IMPORTED(rows[i].module);
		cr_expect_eq(a.verdict == AJ_ALLOWED, rows[i].allowed, "%s of %s: %s", rows[i].module, rows[i].patterns, a.why);
		cr_expect_eq(a.by, AJ_BY_RAIL);
	}
}

Test(answer, imports_by_which_item)
{
	prepare("snippet");
	memset(&policy.imports, 0, sizeof policy.imports);
	*AJ_PUSH(&arena, &policy.imports) = "json";
	*AJ_PUSH(&arena, &policy.imports) = "numpy.*";
	cr_expect_eq(IMPORTED("json").item, 0);
	cr_expect_eq(IMPORTED("numpy.random").item, 1);
	cr_expect_eq(IMPORTED("os").item, AJ_NO_ITEM);
	cr_expect_eq(IMPORTED("__future__").item, AJ_NO_ITEM);
	policy.layer = false;
	cr_expect(IMPORTED("os").verdict == AJ_ALLOWED && IMPORTED("os").by == AJ_BY_NOBODY);
	policy.layer = true;
	policy.rootfs = "host";
	cr_expect(IMPORTED("os").verdict == AJ_ALLOWED && IMPORTED("os").by == AJ_BY_NOBODY, "commands have no layer");
}

Test(answer, system_calls)
{
	prepare("snippet");
	cr_expect_eq(CALL("read").verdict, AJ_ALLOWED);
	cr_expect(CALL("execve").verdict == AJ_DENIED && strncmp(CALL("execve").why, "EPERM", 5) == 0);
	cr_expect(CALL("clone3").verdict == AJ_DENIED && strncmp(CALL("clone3").why, "ENOSYS", 6) == 0);
	cr_expect(CALL("mprotect").verdict == AJ_ALLOWED && strstr(CALL("mprotect").why, "only where argument 3"));
	prepare("command");
	cr_expect_eq(CALL("execve").verdict, AJ_ALLOWED);
	cr_expect(CALL("socket").verdict == AJ_ALLOWED && strstr(CALL("socket").why, "AF_UNIX") &&
	          strstr(CALL("socket").why, "otherwise EAFNOSUPPORT"));
	cr_expect(CALL("sync").verdict == AJ_ALLOWED && strstr(CALL("sync").why, "not made"));
	cr_expect(CALL("ptrace").verdict == AJ_DENIED && CALL("ptrace").by == AJ_BY_SECCOMP);
	plan.deny = AJ_DENY_FORK | AJ_DENY_MEMFD;
	cr_expect(CALL("fork").verdict == AJ_DENIED && strcmp(CALL("fork").key, "process.fork") == 0);
	cr_expect(CALL("memfd_create").verdict == AJ_DENIED && strcmp(CALL("memfd_create").key, "process.deny_syscalls") == 0);
	cr_expect(CALL("clone").verdict == AJ_ALLOWED && strstr(CALL("clone").why, "argument 1 & 0x10000 is 0 "),
	          "threads are left");
	plan.deny = AJ_DENY_THREADS;
	cr_expect(CALL("clone").verdict == AJ_ALLOWED && strstr(CALL("clone").why, "argument 1 & 0x10000 is 0x10000"));
	plan.deny = AJ_DENY_THREADS | AJ_DENY_FORK;
	cr_expect(CALL("clone").verdict == AJ_DENIED && strncmp(CALL("clone").why, "EPERM", 5) == 0,
	          "neither threads nor processes");
	cr_expect_eq(CALL("socket").verdict, AJ_ALLOWED);
	prepare("snippet");
	cr_expect_eq(CALL("clone").verdict, AJ_ALLOWED);
	plan.deny = AJ_DENY_THREADS;
	cr_expect(CALL("clone").verdict == AJ_DENIED && strcmp(CALL("clone").key, "process.deny_syscalls") == 0,
	          "a snippet had only them");
}

Test(answer, names_of_system_calls)
{
	size_t count = 0;
	for (int i = 0; i < AJ_SYSCALL_NUMBERS; i++)
		count += aj_syscall_names[i][0] != '\0';
	cr_expect_gt(count, 250);
}

Test(answer, places)
{
	prepare("command");
	*AJ_PUSH(&arena, &plan.mounts) = (struct aj_mount){ .kind = AJ_MOUNT_BIND, .target = "/opt/data", .source = "/srv" };
	*AJ_PUSH(&arena,
	         &plan.mounts) = (struct aj_mount){ .kind = AJ_MOUNT_BIND, .target = "/opt/data/sub", .source = "/other" };
	*AJ_PUSH(&arena, &plan.mounts) = (struct aj_mount){ .kind = AJ_MOUNT_MASK, .target = "/opt/data/secret", .source = "" };
	static const struct {
		const char *path;
		enum aj_path_match_kind kind;
		const char *target, *rest;
	} rows[] = {
		{ "/", AJ_MATCH_FOLDER, NULL, "" },
		{ "/etc", AJ_MATCH_FOLDER, NULL, "" },
		{ "/opt", AJ_MATCH_FOLDER, NULL, "" },
		{ "/op", AJ_MATCH_NONE, NULL, "" },
		{ "/etc/shadow", AJ_MATCH_NONE, NULL, "" },
		{ "/etc/passwd", AJ_MATCH_TEXT, "/etc/passwd", "" },
		{ "/bin/sh", AJ_MATCH_LINK, "/bin", "/sh" },
		{ "/usr/bin/env", AJ_MATCH_HOST, "/usr", "/bin/env" },
		{ "/usrx", AJ_MATCH_NONE, NULL, "" },
		{ "/tmp/a/b", AJ_MATCH_SCRATCH, "/tmp", "/a/b" },
		{ "/dev/shm/x", AJ_MATCH_SCRATCH, "/dev/shm", "/x" },
		{ "/proc/self", AJ_MATCH_KERNEL, "/proc", "/self" },
		{ "/proc/kcore", AJ_MATCH_MASK, "/proc/kcore", "" },
		{ "/opt/data/a", AJ_MATCH_HOST, "/opt/data", "/a" },
		{ "/opt/data/sub/a", AJ_MATCH_HOST, "/opt/data/sub", "/a" },
		{ "/opt/data/secret/a", AJ_MATCH_MASK, "/opt/data/secret", "/a" },
		{ "/opt/data/secrets", AJ_MATCH_HOST, "/opt/data", "/secrets" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_path_match p = aj_plan_match_path(&plan, rows[i].path);
		cr_expect(p.kind == rows[i].kind, "%s: %d", rows[i].path, p.kind);
		cr_expect_str_eq(p.rest, rows[i].rest);
		if (rows[i].target)
			cr_expect_str_eq(p.row ? p.row->target : "", rows[i].target);
	}
	/* A mask lies over what is mounted below it, too. */
	*AJ_PUSH(&arena, &plan.mounts) = (struct aj_mount){ .kind = AJ_MOUNT_MASK, .target = "/etc", .source = "" };
	*AJ_PUSH(&arena, &plan.mounts) = (struct aj_mount){ .kind = AJ_MOUNT_MASK, .target = "/dev", .source = "" };
	cr_expect_eq(aj_plan_match_path(&plan, "/etc/passwd").kind, AJ_MATCH_MASK);
	cr_expect_eq(aj_plan_match_path(&plan, "/dev/null").kind, AJ_MATCH_MASK);
	cr_expect_eq(aj_plan_match_path(&plan, "/dev/shm/x").kind, AJ_MATCH_MASK);
	cr_expect_eq(aj_plan_match_path(&plan, "/etcetera").kind, AJ_MATCH_NONE);
}

/* A value must show its reader that its wall does not stand. */
Test(answer, standing)
{
	prepare("coding-agent");
	const struct aj_key *mode = aj_key_find(aj_policy_keys, "network.mode"),
			    *hosts = aj_key_find(aj_policy_keys, "network.allow");
	cr_expect(!aj_key_status(mode, &policy) && !aj_key_status(hosts, &policy));
	cr_expect_str_eq(aj_key_kind(mode, &policy), "kernel wall");
	policy.workspace = AJ_WORKSPACE_OVERLAY;
	cr_expect(strstr(aj_key_status(aj_key_find(aj_policy_keys, "filesystem.protect"), &policy), "kept apart"));
	policy.network = AJ_NET_HOST;
	cr_expect_str_eq(aj_key_kind(mode, &policy), "no wall");
	policy.network = AJ_NET_NONE;
	cr_expect_str_eq(aj_key_kind(mode, &policy), "kernel wall");
	prepare("snippet");
	for (size_t k = 0; k < aj_policy_key_count; k++)
		cr_expect_eq(aj_policy_keys[k].by == AJ_BY_RAIL, strcmp(aj_key_kind(&aj_policy_keys[k], &policy), "rail") == 0,
		             "%s", aj_policy_keys[k].name);
}
