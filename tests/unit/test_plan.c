/* Tests of plan/: given policy, request and host, is this exactly what will be done?
 * Every host here is invented: no test looks at the machine it runs on. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "plan/plan.h"

static struct aj_arena arena;
static struct aj_policy policy;
static struct aj_request request;
static struct aj_host host;
static struct aj_plan plan;
static struct aj_error err;
static char *command_argv[] = { "true", NULL };

static void prepare(bool snippet)
{
	aj_policy_preset(&policy, &arena, snippet ? "snippet" : "command");
	request = (struct aj_request){ .snippet = snippet, .id = "unit", .code = "", .filename = "<snippet>", .terminal_fd = -1 };
	request.rootfs = "/rootfs";
	request.argv = command_argv;
	host = (struct aj_host){ .uid = 1001, .gid = 1002, .landlock_abi = 3, .cgroup_why = "there is none" };
	memcpy(host.top_links, (const char *[]){ "usr/bin", "usr/sbin", "usr/lib", "", NULL, NULL }, sizeof host.top_links);
	err = (struct aj_error){ 0 };
}

static int build(void)
{
	err = (struct aj_error){ 0 };
	return aj_plan_build(&plan, &arena, &policy, &request, &host, &err);
}

static void must_build(void)
{
	cr_assert_eq(build(), 0, "%s: %s", err.step, err.cause);
}

static void done(void)
{
	aj_arena_free(&arena);
}
TestSuite(plan, .fini = done);

#define BOTH_KINDS(snippet) for (int snippet = 0; snippet <= 1; snippet++)

static const char *env(const char *name)
{
	size_t bytes = strlen(name);
	const char *found = NULL;
	for (char **e = plan.env; *e; e++)
		if (strncmp(*e, name, bytes) == 0 && (*e)[bytes] == '=') {
			cr_expect_null(found, "%s is set twice", name);
			found = *e + bytes + 1;
		}
	return found;
}

static const struct aj_mount *mount_at(const char *target)
{
	for (size_t i = 0; i < plan.mounts.count; i++)
		if (strcmp(plan.mounts.items[i].target, target) == 0)
			return &plan.mounts.items[i];
	return NULL;
}

static const struct aj_rlimit *rlimit_of(int resource)
{
	for (size_t i = 0; i < plan.rlimits.count; i++)
		if (plan.rlimits.items[i].resource == resource)
			return &plan.rlimits.items[i];
	return NULL;
}

static const char *enforced(const char *wall)
{
	const char *by = NULL;
	for (size_t i = 0; i < plan.enforced.count; i++)
		if (strcmp(plan.enforced.items[i].wall, wall) == 0) {
			cr_expect_null(by, "%s stands there twice", wall);
			by = plan.enforced.items[i].by;
		}
	return by ? by : "(missing)";
}

static const char *cgroup_row(const char *file)
{
	for (size_t i = 0; i < plan.cgroup_rows.count; i++)
		if (strcmp(plan.cgroup_rows.items[i].file, file) == 0)
			return plan.cgroup_rows.items[i].value;
	return NULL;
}

/* Environment */

Test(plan, env_is_ours_and_what_was_asked)
{
	setenv("UNIT_TEST_SECRET", "key", 1);
	BOTH_KINDS(snippet) {
		prepare(snippet);
		must_build();
		cr_expect_null(env("UNIT_TEST_SECRET"), "the host's variables stay outside");
		cr_expect_not_null(env("PATH"));
		cr_expect_not_null(env("HOME"));
	}
}

Test(plan, env_the_last_one_wins)
{
	prepare(false);
	must_build();
	size_t before = 0, after = 0;
	while (plan.env[before])
		before++;
	static const char *const asked[] = { "PATH=/mine", "A=1", "A=2", "PATHX=/other", "AB=3", "A=", "EMPTY=", "E=a=b" };
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		*AJ_PUSH(&arena, &request.env) = asked[i];
	must_build();
	while (plan.env[after])
		after++;
	cr_expect_eq(after, before + 5, "%zu and %zu", before, after);
	cr_expect_str_eq(env("PATH"), "/mine");
	cr_expect_str_eq(env("PATHX"), "/other");
	cr_expect_str_eq(env("A"), "");
	cr_expect_str_eq(env("AB"), "3");
	cr_expect_str_eq(env("EMPTY"), "");
	cr_expect_str_eq(env("E"), "a=b");
}

/* The loader and Python start with our variables only; the caller's are set when the filter stands. */
Test(plan, env_of_a_snippet_comes_late)
{
	prepare(true);
	must_build();
	size_t before = 0, after = 0;
	while (plan.env[before])
		before++;
	*AJ_PUSH(&arena, &request.env) = "GCONV_PATH=/tmp";
	*AJ_PUSH(&arena, &request.env) = "PATH=/mine";
	must_build();
	while (plan.env[after])
		after++;
	cr_expect_eq(after, before);
	cr_expect_str_eq(env("PATH"), "/usr/bin");
	cr_expect_null(env("GCONV_PATH"));
	cr_assert_eq(plan.late_env.count, 2);
	cr_expect_str_eq(plan.late_env.items[1], "PATH=/mine");
	prepare(false);
	*AJ_PUSH(&arena, &request.env) = "A=1";
	must_build();
	cr_expect_eq(plan.late_env.count, 0);
}

/* Preload */

Test(plan, preload_by_words)
{
	static const struct {
		const char *code, *want;
	} rows[] = {
		{ "import math", "math" },
		{ "math", "math" },
		{ "import math\n", "math" },
		{ "math.pi + re.x", "math re" },
		{ "from math import pi", "math" },
		{ "x=__import__('math')", "math" },
		{ "import maths", "" },
		{ "import mathx, _math, math_", "" },
		{ "xmath", "" },
		{ "math2", "" },
		{ "2math", "" },
		{ "MATH", "" },
		{ "maths math", "math" }, /* the first hit is no word, the second is */
		{ "remath.re", "re" },
		{ "math math math", "math" }, /* once */
		{ "\xc3\xa9math", "math" },   /* more than needed does no harm */
		{ "import numpy.linalg", "numpy" },
		{ "import os", "os.path" }, /* found by its top name, preloaded as allowed */
		{ "path", "" },
		{ "mat", "" },
		{ "", "" },
		{ "m", "" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char got[200] = "";
		prepare(true);
		policy.imports.count = 0;
		*AJ_PUSH(&arena, &policy.imports) = "math";
		*AJ_PUSH(&arena, &policy.imports) = "re";
		*AJ_PUSH(&arena, &policy.imports) = "numpy.*";
		*AJ_PUSH(&arena, &policy.imports) = "os.path";
		request.code = rows[i].code;
		request.code_bytes = strlen(rows[i].code);
		must_build();
		for (size_t j = 0; j < plan.preload.count; j++)
			sprintf(got + strlen(got), "%s%s", j ? " " : "", plan.preload.items[j]);
		cr_expect_str_eq(got, rows[i].want, "`%s`: `%s`", rows[i].code, got);
	}
}

/* Without the layer nothing says what may be imported: every name on a line with the word `import` is tried. */
Test(plan, preload_layer_off)
{
	static const struct {
		const char *code, *want;
	} rows[] = {
		{ "import math", "math" },
		{ "import math, numpy.linalg as la", "math numpy.linalg as la" },
		{ "from json import dumps\nx = math", "json dumps" },
		{ "x = math\ny = re", "" },
		{ "__import__('zlib')", "__import__ zlib" },
		{ "import a..b, 1x, .c, d.", "" },
		{ "import", "" },
		{ "", "" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char got[200] = "";
		prepare(true);
		policy.layer = false;
		request.code = rows[i].code;
		request.code_bytes = strlen(rows[i].code);
		must_build();
		for (size_t j = 0; j < plan.preload.count; j++)
			sprintf(got + strlen(got), "%s%s", j ? " " : "", plan.preload.items[j]);
		cr_expect_str_eq(got, rows[i].want, "`%s`: `%s`", rows[i].code, got);
	}
	char code[16000] = "";
	for (int i = 0; i < 500; i++)
		strcat(code, "import math\n");
	strcat(code, "import zlib\n");
	prepare(true);
	policy.layer = false;
	request.code = code;
	request.code_bytes = strlen(code);
	must_build();
	cr_expect_leq(plan.preload.count, 100, "a list without an end");
	cr_expect(plan.preload.count && strcmp(plan.preload.items[plan.preload.count - 1], "zlib") == 0, "repeats took zlib's place");
}

Test(plan, preload_looks_at_the_code_and_no_further)
{
	prepare(true);
	policy.imports.count = 0;
	*AJ_PUSH(&arena, &policy.imports) = "math";
	request.code = "1\0 math json";
	request.code_bytes = 12;
	must_build();
	cr_expect_eq(plan.preload.count, 1, "a NUL does not end the code");
	request.code_bytes = 6;
	must_build();
	cr_expect_eq(plan.preload.count, 0, "`mat` is all there is");
	request.code_bytes = 7;
	must_build();
	cr_expect_eq(plan.preload.count, 1, "a word may be the last one");
	prepare(false);
	*AJ_PUSH(&arena, &policy.imports) = "math";
	request.code = "math";
	request.code_bytes = 4;
	must_build();
	cr_expect_eq(plan.preload.count, 0, "a command has no code");
}

/* Identity */

Test(plan, identity)
{
	static const struct {
		uid_t uid, gid;
		bool may_map;
		uid_t host_uid;
		gid_t host_gid;
	} rows[] = {
		{ 0, 0, true, 65534, 65534 },      { 0, 5, true, 65534, 65534 },     { 0, 0, false, 0, 0 },
		{ 1001, 1002, false, 1001, 1002 }, { 1001, 1002, true, 1001, 1002 },
	};
	BOTH_KINDS(snippet)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			prepare(snippet);
			host.uid = rows[i].uid;
			host.gid = rows[i].gid;
			host.may_map_ids = rows[i].may_map;
			must_build();
			cr_expect(plan.uid == 1000 && plan.gid == 1000, "inside it is always the same id");
			cr_expect(plan.host_uid == rows[i].host_uid && plan.host_gid == rows[i].host_gid, "row %zu: %u %u", i,
			          plan.host_uid, plan.host_gid);
		}
}

/* Namespaces and network */

Test(plan, namespaces)
{
	const unsigned long always = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | 0x02000000;
	static const struct {
		enum aj_network network;
		bool own, loopback;
		const char *says;
	} rows[] = {
		{ AJ_NET_NONE, true, false, "no interface" },
		{ AJ_NET_LOOPBACK, true, true, "loopback only" },
		{ AJ_NET_HOST, false, false, "none: " },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		prepare(false);
		policy.network = rows[i].network;
		must_build();
		cr_expect_eq(plan.namespaces, always | (rows[i].own ? CLONE_NEWNET : 0));
		cr_expect_eq(plan.loopback, rows[i].loopback);
		cr_expect_eq(plan.network, rows[i].network);
		cr_expect(strstr(enforced("network"), rows[i].says), "%s", enforced("network"));
		cr_expect_eq(mount_at("/etc/resolv.conf") != NULL, rows[i].network == AJ_NET_HOST, "name servers of the host");
	}
}

/* Abstract sockets have no namespace but the network's: with the host's, only Landlock can keep them away. */
Test(plan, abstract_sockets_of_the_host)
{
	for (int abi = 0; abi <= 8; abi++) {
		prepare(false);
		policy.network = AJ_NET_HOST;
		host.landlock_abi = abi;
		must_build();
		cr_expect_eq(strstr(enforced("network"), "abstract sockets included") != NULL, abi < 6, "ABI %d: %s", abi,
		             enforced("network"));
	}
}

/* Mounts */

Test(plan, what_every_tree_has)
{
	BOTH_KINDS(snippet) {
		prepare(snippet);
		must_build();
		const struct aj_mount *usr = mount_at("/usr"), *tmp = mount_at("/tmp");
		cr_assert(usr && tmp && mount_at("/dev/null"));
		cr_expect(usr->kind == AJ_MOUNT_BIND && (usr->flags & AJ_RO));
		cr_expect_str_eq(usr->source, snippet ? "/rootfs/tree/usr" : "/usr");
		cr_expect(tmp->kind == AJ_MOUNT_TMPFS && tmp->size_bytes == policy.tmp_bytes && tmp->inodes == policy.tmp_inodes);
		cr_expect_eq((tmp->flags & AJ_NOEXEC) != 0, snippet, "nothing to execute in a snippet's /tmp");
		for (size_t i = 0; i < plan.mounts.count; i++) {
			const struct aj_mount *m = &plan.mounts.items[i];
			cr_expect(m->why && *m->why, "%s without a reason", m->target);
			cr_expect_eq(m->target[0], '/');
			cr_expect_eq(mount_at(m->target), m, "%s twice", m->target);
			bool writable_bind = m->kind == AJ_MOUNT_BIND && !(m->flags & (AJ_RO | AJ_DEV));
			cr_expect_not(writable_bind, "%s is writable", m->target);
			if (m->kind == AJ_MOUNT_TMPFS)
				cr_expect(m->size_bytes && m->inodes, "%s without a limit", m->target);
		}
	}
}

Test(plan, a_snippet_sees_no_more_than_python)
{
	prepare(true);
	must_build();
	static const char *const absent[] = { "/proc", "/dev/shm", "/dev/pts", "/dev/tty", "/etc/passwd",
		                              "/bin",  "/sys",     "/home",    "/root" };
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		cr_expect_null(mount_at(absent[i]), "%s", absent[i]);
	cr_expect_leq(plan.mounts.count, 8);
}

Test(plan, proc)
{
	prepare(false);
	must_build();
	const struct aj_mount *proc = mount_at("/proc");
	cr_assert(proc && proc->kind == AJ_MOUNT_PROC && (proc->flags & AJ_RO));
	static const char *const masked[] = { "/proc/keys", "/proc/kallsyms", "/proc/kcore" };
	for (size_t i = 0; i < sizeof masked / sizeof *masked; i++) {
		const struct aj_mount *m = mount_at(masked[i]);
		cr_expect(m && m > proc && (m->flags & AJ_MASK) && strcmp(m->source, "/dev/null") == 0, "%s", masked[i]);
	}
	policy.proc = false;
	must_build();
	for (size_t i = 0; i < plan.mounts.count; i++)
		cr_expect(strncmp(plan.mounts.items[i].target, "/proc", 5) != 0, "%s", plan.mounts.items[i].target);
	cr_expect_null(mount_at("/dev/fd"), "a link to nowhere");
}

Test(plan, top_folders_as_on_the_host)
{
	prepare(false);
	must_build();
	cr_expect(mount_at("/bin")->kind == AJ_MOUNT_SYMLINK && strcmp(mount_at("/bin")->source, "usr/bin") == 0);
	cr_expect(mount_at("/lib64")->kind == AJ_MOUNT_BIND && (mount_at("/lib64")->flags & AJ_RO));
	cr_expect_null(mount_at("/lib32"));
}

static void bind(const char *source, const char *target, bool writable)
{
	*AJ_PUSH(&arena, &request.binds) = (struct aj_bind){ source, target, writable };
}

Test(plan, binds)
{
	prepare(false);
	bind("/src", "/work", true);
	bind("/data", "/tmp/data", false);
	must_build();
	const struct aj_mount *work = mount_at("/work"), *data = mount_at("/tmp/data");
	cr_assert(work && data);
	cr_expect_str_eq(work->source, "/src");
	cr_expect_eq(work->flags, 0, "writable, nosuid, nodev, and no symlink of the caller's is followed");
	cr_expect_eq(data->flags, AJ_RO);
	cr_expect(data > mount_at("/tmp"), "after the /tmp that it is in");
	prepare(true);
	bind("/data", "/input/data", false);
	must_build();
	cr_expect_eq(mount_at("/input/data")->flags, AJ_RO | AJ_NOEXEC, "an input is nothing to execute");
}

Test(plan, binds_that_would_cover_the_jail)
{
	static const struct {
		const char *target;
		bool command, snippet;
	} rows[] = {
		{ "/", false, false },
		{ "/usr", false, false },
		{ "/usr/bin", false, false },
		{ "/usr/local/x", false, false },
		{ "/proc", false, false },
		{ "/proc/1", false, false },
		{ "/dev", false, false },
		{ "/dev/null", false, false },
		{ "/dev/shm/x", false, false },
		/* what a loader could look at before the filter stands */
		{ "/etc", true, false },
		{ "/etc/ld.so.preload", true, false },
		{ "/lib", true, false },
		{ "/lib64/x", true, false },
		{ "/bin", true, false },
		{ "/sbin/x", true, false },
		/* names that only begin the same */
		{ "/usrx", true, true },
		{ "/process", true, true },
		{ "/device", true, true },
		{ "/etcetera", true, true },
		{ "/library", true, true },
		{ "/home/u", true, true },
		{ "/tmp/x", true, true },
		{ "/input/a", true, true },
		{ "/opt/usr", true, true },
	};
	BOTH_KINDS(snippet)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			bool ok = snippet ? rows[i].snippet : rows[i].command;
			prepare(snippet);
			bind("/src", rows[i].target, false);
			cr_expect_eq(build(), ok ? 0 : -1, "%s for a %s", rows[i].target, snippet ? "snippet" : "command");
			if (ok)
				continue;
			cr_expect_eq(err.exit_code, AJ_EXIT_USAGE);
			cr_expect(strstr(err.cause, rows[i].target), "%s", err.cause);
		}
}

/* Pages of a tmpfs are nobody's memory where there is no memory cgroup. */
Test(plan, scratch_is_no_larger_than_memory)
{
	BOTH_KINDS(snippet) {
		prepare(snippet);
		policy.memory_bytes = 16 << 20;
		must_build();
		cr_expect_eq(mount_at("/tmp")->size_bytes, 16 << 20);
		if (!snippet)
			cr_expect_eq(mount_at("/dev/shm")->size_bytes, 16 << 20);
		policy.memory_bytes = 0;
		must_build();
		cr_expect_eq(mount_at("/tmp")->size_bytes, policy.tmp_bytes);
		policy.memory_bytes = 100ULL << 30;
		must_build();
		cr_expect_eq(mount_at("/tmp")->size_bytes, policy.tmp_bytes);
	}
}

/* Limits */

Test(plan, strict_limits_need_a_cgroup)
{
	static const struct {
		const char *cgroup;
		unsigned controllers;
		uint64_t memory, pids;
		bool ok;
	} rows[] = {
		{ NULL, 0, 1 << 30, 10, false },
		{ NULL, 0, 1 << 30, 0, false },
		{ NULL, 0, 0, 10, false },
		{ NULL, 0, 0, 0, true }, /* nothing asked for */
		{ "/cg", 0, 1 << 30, 10, false },
		{ "/cg", AJ_CGROUP_MEMORY, 1 << 30, 10, false },
		{ "/cg", AJ_CGROUP_PIDS, 1 << 30, 10, false },
		{ "/cg", AJ_CGROUP_MEMORY, 1 << 30, 0, true },
		{ "/cg", AJ_CGROUP_PIDS, 0, 10, true },
		{ "/cg", AJ_CGROUP_MEMORY | AJ_CGROUP_PIDS, 1 << 30, 10, true },
		{ NULL, AJ_CGROUP_MEMORY | AJ_CGROUP_PIDS, 1 << 30, 10, false }, /* controllers of no cgroup */
	};
	BOTH_KINDS(snippet)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			prepare(snippet);
			policy.enforce = AJ_ENFORCE_STRICT;
			policy.memory_bytes = rows[i].memory;
			policy.pids = rows[i].pids;
			host.cgroup = rows[i].cgroup;
			host.cgroup_controllers = rows[i].controllers;
			int r = build();
			cr_expect_eq(r, rows[i].ok ? 0 : -1, "row %zu: %s", i, err.cause);
			cr_expect_eq(err.exit_code, rows[i].ok ? 0 : AJ_EXIT_SETUP);
			cr_expect(rows[i].ok || err.fix[0], "row %zu: refused without advice", i);
		}
	prepare(true);
	policy.enforce = AJ_ENFORCE_STRICT;
	build();
	cr_expect(strstr(err.cause, "there is none"), "the host's reason is passed on: %s", err.cause);
}

Test(plan, best_effort_says_what_it_took)
{
	prepare(true);
	must_build();
	cr_expect(plan.memory_by_rlimit && !plan.cgroup && plan.cgroup_rows.count == 0);
	cr_assert_not_null(rlimit_of(RLIMIT_AS));
	cr_expect_eq(rlimit_of(RLIMIT_AS)->value, policy.memory_bytes);
	cr_expect(strstr(enforced("memory"), "RLIMIT_AS") && strstr(enforced("pids"), "RLIMIT_NPROC"));
	prepare(false);
	policy.memory_bytes = 1 << 30;
	must_build();
	cr_expect(rlimit_of(RLIMIT_DATA) && !rlimit_of(RLIMIT_AS), "runtimes of other languages reserve more than they use");
	cr_expect(strstr(enforced("memory"), "RLIMIT_DATA"));
}

Test(plan, cgroup_rows)
{
	prepare(true);
	host.cgroup = "/cg";
	host.cgroup_controllers = AJ_CGROUP_MEMORY | AJ_CGROUP_PIDS;
	policy.memory_bytes = 256 << 20;
	policy.pids = 9;
	must_build();
	cr_expect_str_eq(plan.cgroup, "/cg");
	cr_expect_str_eq(cgroup_row("memory.max"), "268435456");
	cr_expect_str_eq(cgroup_row("memory.swap.max"), "0");
	cr_expect_str_eq(cgroup_row("memory.oom.group"), "1");
	cr_expect_str_eq(cgroup_row("pids.max"), "10", "one more for init");
	cr_expect(!plan.memory_by_rlimit && !rlimit_of(RLIMIT_AS) && !rlimit_of(RLIMIT_DATA));
	cr_expect(strstr(enforced("memory"), "memory.max") && strstr(enforced("pids"), "pids.max"));
	host.cgroup_controllers = AJ_CGROUP_PIDS;
	must_build();
	cr_expect(!cgroup_row("memory.max") && cgroup_row("pids.max") && plan.memory_by_rlimit);
	cr_expect(strstr(enforced("memory"), "RLIMIT_AS"));
}

Test(plan, no_limit_is_said_to_be_none)
{
	prepare(false);
	policy.memory_bytes = policy.pids = policy.wall_ms = policy.cpu_ms = 0;
	must_build();
	static const char *const walls[] = { "memory", "pids", "wall_clock", "cpu_time", "python_layer" };
	for (size_t i = 0; i < sizeof walls / sizeof *walls; i++)
		cr_expect(strncmp(enforced(walls[i]), "none: ", 6) == 0, "%s: %s", walls[i], enforced(walls[i]));
	cr_expect(!rlimit_of(RLIMIT_CPU) && !rlimit_of(RLIMIT_NPROC) && !rlimit_of(RLIMIT_DATA));
}

Test(plan, rlimits)
{
	prepare(true);
	policy.cpu_ms = 1500;
	must_build();
	cr_expect_eq(rlimit_of(RLIMIT_CPU)->value, 3, "rounded up, and one more for the wall clock to speak first");
	cr_expect_eq(rlimit_of(RLIMIT_CORE)->value, 1, "0 would still run a core handler on the host");
	cr_expect_eq(rlimit_of(RLIMIT_NOFILE)->value, policy.open_files);
	cr_expect_eq(rlimit_of(RLIMIT_FSIZE)->value, policy.file_bytes);
	for (size_t i = 0; i < plan.rlimits.count; i++)
		cr_expect(plan.rlimits.items[i].why && rlimit_of(plan.rlimits.items[i].resource) == &plan.rlimits.items[i], "%s",
		          plan.rlimits.items[i].name);
}

/* The real root has no process limit: a jail that would be that root needs another one. */
Test(plan, id_0_needs_a_pids_cgroup)
{
	BOTH_KINDS(snippet) {
		prepare(snippet);
		host.uid = host.gid = 0;
		host.init_root = true;
		cr_expect_eq(build(), -1, "as id 0 under RLIMIT_NPROC");
		cr_expect_eq(err.exit_code, AJ_EXIT_SETUP);
		host.cgroup = "/cg";
		host.cgroup_controllers = AJ_CGROUP_MEMORY;
		cr_expect_eq(build(), -1, "with another controller");
		host.cgroup_controllers = AJ_CGROUP_PIDS;
		cr_expect_eq(build(), 0, "%s", err.cause);
		host.cgroup = NULL;
		host.may_map_ids = true;
		cr_expect_eq(build(), 0, "as another id: %s", err.cause);
		host.may_map_ids = host.init_root = false;
		cr_expect_eq(build(), 0, "id 0 of a namespace is somebody else's id outside: %s", err.cause);
	}
}

/* The rest */

Test(plan, snippet_and_command)
{
	prepare(true);
	must_build();
	cr_expect(plan.snippet && plan.control_fd && plan.capture && plan.profile == AJ_PROFILE_SNIPPET);
	cr_expect_str_eq(plan.argv[0], "/usr/bin/python3");
	cr_expect_str_eq(plan.chdir, "/tmp");
	cr_expect(strstr(enforced("python_layer"), "not a wall"), "%s", enforced("python_layer"));
	policy.layer = false;
	must_build();
	cr_expect(strncmp(enforced("python_layer"), "none: ", 6) == 0);
	prepare(false);
	must_build();
	cr_expect(!plan.snippet && !plan.control_fd && !plan.capture && plan.profile == AJ_PROFILE_COMMAND);
	cr_expect_eq(plan.argv, command_argv);
	request.capture = true;
	request.chdir = "/work";
	must_build();
	cr_expect(plan.capture);
	cr_expect_str_eq(plan.chdir, "/work");
}

/* A terminal is handed in only where a person's command keeps our streams; everything else gets a session of its own. */
Test(plan, terminal)
{
	static const struct {
		bool snippet, capture;
		int given, want;
	} rows[] = {
		{ false, false, -1, -1 }, { false, false, 0, 0 }, { false, false, 2, 2 },
		{ false, true, 0, -1 },   { true, false, 0, -1 }, { true, true, 2, -1 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		prepare(rows[i].snippet);
		request.capture = rows[i].capture;
		request.terminal_fd = rows[i].given;
		must_build();
		cr_expect_eq(plan.terminal_fd, rows[i].want, "row %zu: %d", i, plan.terminal_fd);
	}
}

Test(plan, landlock)
{
	prepare(true);
	must_build();
	cr_expect_str_eq(enforced("landlock"), "ABI 3");
	cr_expect_eq(plan.landlock_abi, 3);
	host.landlock_abi = 0;
	must_build();
	cr_expect(plan.landlock_abi == 0 && strncmp(enforced("landlock"), "none: ", 6) == 0);
}

static char *dump(void)
{
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	aj_plan_dump(&plan, out);
	fclose(out);
	return text;
}

/* Pure: a plan depends on its three inputs, not on the day. */
Test(plan, the_same_twice)
{
	BOTH_KINDS(snippet) {
		prepare(snippet);
		must_build();
		char *first = dump();
		setenv("PATH", "/elsewhere", 1);
		must_build();
		char *second = dump();
		cr_expect_str_eq(first, second);
		cr_expect_gt(strlen(first), 1000);
		free(first);
		free(second);
	}
}

Test(plan, dump_shows_what_will_be_done)
{
	prepare(false);
	bind("/src", "/work", true);
	*AJ_PUSH(&arena, &request.env) = "TOKEN=x";
	policy.network = AJ_NET_LOOPBACK;
	must_build();
	char *text = dump();
	static const char *const lines[] = { "policy: command\n",
		                             "identity: uid 1000 gid 1000 inside, 1001 1002 on the host\n",
		                             "network: loopback\n",
		                             "  TOKEN=x\n",
		                             " <- /src rw,nosuid,nodev",
		                             "cgroup: none\n",
		                             "  execve\n",
		                             "  RLIMIT_CORE 1 " };
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		cr_expect(strstr(text, lines[i]), "no `%s` in the plan", lines[i]);
	cr_expect_null(strstr(text, "  unshare"), "refused calls are not listed as allowed");
	free(text);
}
