/* Tests of plan/: given policy, request and host, is this exactly what will be done?
 * Every host here is invented: no test looks at the machine it runs on. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/path.h"
#include "policy/load/load.h"
#include "policy/plan/is_allowed.h"
#include "policy/plan/plan.h"
#include "sandbox/launch.h"

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
	request = (struct aj_request){
		.is_snippet = snippet, .id = "unit", .snippet = { .code = "", .filename = "<snippet>" }, .command.terminal_fd = -1
	};
	request.rootfs = snippet ? "/rootfs" : NULL;
	request.command.argv = command_argv;
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

Test(plan, env_of_the_policy_comes_before_the_callers)
{
	prepare(false);
	*AJ_PUSH(&arena, &policy.env) = "A=policy";
	*AJ_PUSH(&arena, &policy.env) = "B=policy";
	*AJ_PUSH(&arena, &policy.env) = "LANG=C";
	*AJ_PUSH(&arena, &request.env) = "A=caller";
	must_build();
	cr_expect_str_eq(env("A"), "caller");
	cr_expect_str_eq(env("B"), "policy");
	cr_expect_str_eq(env("LANG"), "C");
	prepare(true);
	*AJ_PUSH(&arena, &policy.env) = "A=policy";
	*AJ_PUSH(&arena, &request.env) = "A=caller";
	must_build();
	cr_assert_eq(plan.late_env.count, 2);
	cr_expect_str_eq(plan.late_env.items[0], "A=policy");
	cr_expect_str_eq(plan.late_env.items[1], "A=caller", "the later one wins");
	cr_expect_null(env("A"));
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
		{ "import os", "" }, /* every part of the name is a word of the code */
		{ "import os; os.path", "os.path" },
		{ "from os import path", "os.path" },
		{ "os path numpy", "numpy os.path" },
		{ "pandas", "tables.fast" }, /* a row of the preload list, by its word */
		{ "tables", "tables.slow" },
		{ "import fast", "" },
		{ "path", "" },
		{ "mat", "" },
		{ "", "" },
		{ "m", "" },
		{ "*", "" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char got[200] = "";
		prepare(true);
		policy.imports.count = 0;
		*AJ_PUSH(&arena, &policy.imports) = "math";
		*AJ_PUSH(&arena, &policy.imports) = "re";
		*AJ_PUSH(&arena, &policy.imports) = "numpy.*";
		*AJ_PUSH(&arena, &policy.imports) = "os.path";
		policy.preload.count = 0;
		*AJ_PUSH(&arena, &policy.preload) = "pandas:tables.fast";
		*AJ_PUSH(&arena, &policy.preload) = "tables.slow";
		request.snippet.code = rows[i].code;
		request.snippet.code_bytes = strlen(rows[i].code);
		must_build();
		for (size_t j = 0; j < plan.preload.count; j++)
			sprintf(got + strlen(got), "%s%s", j ? " " : "", plan.preload.items[j]);
		cr_expect_str_eq(got, rows[i].want, "`%s`: `%s`", rows[i].code, got);
	}
}

/* Without the layer, or with the pattern `*`, nothing says what may be imported: every name on a line with the word `import` is tried. */
Test(plan, preload_named)
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
	for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
		char got[200] = "";
		prepare(true);
		policy.layer = i % 2;
		*AJ_PUSH(&arena, &policy.imports) = "*";
		request.snippet.code = rows[i / 2].code;
		request.snippet.code_bytes = strlen(rows[i / 2].code);
		must_build();
		for (size_t j = 0; j < plan.preload.count; j++)
			sprintf(got + strlen(got), "%s%s", j ? " " : "", plan.preload.items[j]);
		cr_expect_str_eq(got, rows[i / 2].want, "`%s`: `%s`", rows[i / 2].code, got);
	}
	char code[16000] = "";
	for (int i = 0; i < 500; i++)
		strcat(code, "import math\n");
	strcat(code, "import zlib\n");
	prepare(true);
	policy.layer = false;
	request.snippet.code = code;
	request.snippet.code_bytes = strlen(code);
	must_build();
	cr_expect_leq(plan.preload.count, 100, "a list without an end");
	cr_expect(plan.preload.count && strcmp(plan.preload.items[plan.preload.count - 1], "zlib") == 0,
	          "repeats took zlib's place");
}

/* A jail that lasts serves requests that come later: all that any of them may ask for is imported before its filter stands. */
Test(plan, preload_for_requests)
{
	prepare(true);
	request.lasting = true;
	policy.imports.count = 0;
	*AJ_PUSH(&arena, &policy.imports) = "math";
	*AJ_PUSH(&arena, &policy.request_imports) = "numpy.*";
	must_build();
	cr_assert_eq(plan.preload.count, 2);
	cr_expect_str_eq(plan.preload.items[1], "numpy");
	policy.request_layer = false;
	must_build();
	cr_assert_eq(plan.preload.count, 3);
	cr_expect_str_eq(plan.preload.items[2], "*");
	request.lasting = false;
	request.snippet.code = "import math, numpy";
	request.snippet.code_bytes = strlen(request.snippet.code);
	must_build();
	cr_expect_eq(plan.preload.count, 1, "one snippet of its own: nothing can be asked for any more");
}

Test(plan, preload_looks_at_the_code_and_no_further)
{
	prepare(true);
	policy.imports.count = 0;
	*AJ_PUSH(&arena, &policy.imports) = "math";
	request.snippet.code = "1\0 math json";
	request.snippet.code_bytes = 12;
	must_build();
	cr_expect_eq(plan.preload.count, 1, "a NUL does not end the code");
	request.snippet.code_bytes = 6;
	must_build();
	cr_expect_eq(plan.preload.count, 0, "`mat` is all there is");
	request.snippet.code_bytes = 7;
	must_build();
	cr_expect_eq(plan.preload.count, 1, "a word may be the last one");
	prepare(false);
	*AJ_PUSH(&arena, &policy.imports) = "math";
	request.snippet.code = "math";
	request.snippet.code_bytes = 4;
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
			cr_expect(plan.uid == 1000 && plan.gid == 1000, "inside it is the policy's id");
			cr_expect(plan.host_uid == rows[i].host_uid && plan.host_gid == rows[i].host_gid, "row %zu: %u %u", i,
			          plan.host_uid, plan.host_gid);
		}
}

/* One that was taken for this jail; but files that it leaves in the host's folders keep one owner. */
Test(plan, an_id_of_its_own)
{
	BOTH_KINDS(snippet)
		for (int lasting = 0; lasting < 2; lasting++)
			for (int writable = 0; writable < 2; writable++)
				for (int root = 0; root < 2; root++) {
					prepare(snippet);
					host.uid = root ? 0 : 1001;
					host.may_map_ids = true;
					host.own_id = 700001;
					request.lasting = lasting;
					if (writable)
						*AJ_PUSH(&arena, &request.binds) = (struct aj_bind){ "/srv/a", "/a", true };
					must_build();
					cr_expect_eq(plan.host_uid, !root ? 1001 : writable ? 65534 : 700001);
					cr_expect(strstr(enforced("identity"), !root ? "host id 1001, shared: the caller's own"
					                                       : writable ? "host id 65534, shared by all"
					                                       : lasting  ? "host id 700001, the jails'"
					                                                  : "host id 700001, this jail's alone"),
					          "%s", enforced("identity"));
				}
}

Test(plan, the_id_inside_is_the_policys)
{
	static const struct {
		uint64_t uid;
		bool ok;
	} rows[] = { { 1, true }, { 1000, true }, { 65533, true }, { 0, false }, { 65534, false }, { 1ULL << 32 | 7, false } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		prepare(false);
		policy.uid = rows[i].uid;
		cr_expect_eq(build(), rows[i].ok ? 0 : -1, "%lu: %s", rows[i].uid, err.cause);
		if (!rows[i].ok)
			continue;
		cr_expect(plan.uid == rows[i].uid && plan.gid == rows[i].uid && plan.host_uid == 1001);
		char want[60];
		snprintf(want, sizeof want, "agent:x:%lu:%lu:", rows[i].uid, rows[i].uid);
		cr_expect(strstr(mount_at("/etc/passwd")->source, want), "%s", mount_at("/etc/passwd")->source);
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
	static const char *const masked[] = { "/proc/keys", "/proc/kallsyms", "/proc/kcore", "/proc/locks", "/proc/interrupts" };
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
	cr_expect_eq(data->flags, AJ_RO | AJ_OVERLAY);
	cr_expect(data > mount_at("/tmp"), "after the /tmp that it is in");
	prepare(true);
	bind("/data", "/input/data", false);
	must_build();
	cr_expect_eq(mount_at("/input/data")->flags, AJ_RO | AJ_OVERLAY | AJ_NOEXEC, "an input is nothing to execute");
}

/* A later bind over an earlier one: refused, but where it shows the same files, or replaces one of the policy. */
Test(plan, binds_that_hide_others)
{
	static const struct {
		const char *policy, *source, *target, *later, *at;
		bool writable, later_writable, fine;
	} rows[] = {
		{ NULL, "/a/b/c", "/a/b/c", "/x", "/a", false, false, false },
		{ NULL, "/a/b/c", "/a/b/c", "/x", "/a/b/c", false, false, false },
		{ NULL, "/a/b/c", "/a/b/c", "/a", "/a", false, false, true },
		{ NULL, "/a/b/c", "/a/b/c", "/a", "/a", false, true, false },
		{ NULL, "/a/b/c", "/a/b/c", "/a", "/a", true, false, false },
		{ NULL, "/a", "/a", "/x", "/a/b/c", true, false, true },
		{ NULL, "/a", "/ab", "/x", "/a", false, false, true },
		{ "/a/b:/p", "/a", "/q", "/x", "/p", false, false, true },
		{ "/a/b:/p/q", "/a", "/q", "/x", "/p", false, false, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		prepare(false);
		policy.binds.count = 0;
		if (rows[i].policy)
			*AJ_PUSH(&arena, &policy.binds) = rows[i].policy;
		bind(rows[i].source, rows[i].target, rows[i].writable);
		bind(rows[i].later, rows[i].at, rows[i].later_writable);
		cr_expect_eq(build(), rows[i].fine ? 0 : -1, "row %zu: %s", i, err.cause);
		cr_expect(rows[i].fine || (err.exit_code == AJ_EXIT_USAGE && strstr(err.cause, rows[i].later) &&
		                           strstr(err.cause, " hides ")),
		          "row %zu: %s", i, err.cause);
	}
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

/* Whatever a snippet is shown but for its tree is noexec, so that machine code of the tree can be allowed without looking at paths. */
static void expect_noexec(void)
{
	for (size_t i = 0; i < plan.mounts.count; i++) {
		const struct aj_mount *m = &plan.mounts.items[i];
		bool mounts = m->kind != AJ_MOUNT_SYMLINK && m->kind != AJ_MOUNT_FILE;
		cr_expect(!mounts || m->flags & AJ_NOEXEC || strcmp(m->target, "/usr") == 0, "%s", m->target);
	}
}

Test(plan, all_but_the_tree_is_noexec)
{
	static const enum aj_workspace modes[] = { AJ_WORKSPACE_NONE, AJ_WORKSPACE_READ_ONLY, AJ_WORKSPACE_OVERLAY,
		                                   AJ_WORKSPACE_COPY, AJ_WORKSPACE_READ_WRITE };
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		for (int how = 0; how < 16; how++) {
			prepare(true);
			policy.native = how & 1 ? AJ_NATIVE_TREE : AJ_NATIVE_START;
			policy.proc = how & 2;
			policy.network = how & 4 ? AJ_NET_ALLOW : AJ_NET_NONE;
			request.snippet.output_files = how & 8;
			policy.workspace = modes[i];
			request.workspace = modes[i] == AJ_WORKSPACE_NONE ? NULL : "/home/u/ws";
			bind("/srv/rw", "/rw", true);
			bind("/srv/ro", "/input/ro", false);
			*AJ_PUSH(&arena, &policy.masks) = "/mask:if-present";
			must_build();
			expect_noexec();
			cr_expect_eq(plan.profile, how & 1 ? AJ_PROFILE_NATIVE : AJ_PROFILE_SNIPPET);
			cr_expect(strstr(enforced("machine_code"), how & 1 ? "at any time" : "before the snippet"));
		}
}

Test(plan, no_writable_path_leads_to_the_machine_code)
{
	static const struct {
		const char *source;
		bool writable, ok;
	} rows[] = {
		{ "/", true, false },
		{ "/rootfs", true, false },
		{ "/rootfs/tree", true, false },
		{ "/rootfs/tree/usr", true, false },
		{ "/rootfs/tree/usr/lib", true, false },
		{ "/rootfs/tree/usr/lib/python3.11/x.so", true, false },
		{ "/rootfs", false, true },
		{ "/rootfs/tree/usr/lib", false, true },
		{ "/rootfs2", true, true },
		{ "/root", true, true },
	};
	for (int native = 0; native <= 1; native++)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			prepare(true);
			policy.native = native ? AJ_NATIVE_TREE : AJ_NATIVE_START;
			bind(rows[i].source, "/mnt", rows[i].writable);
			cr_expect_eq(build(), native && !rows[i].ok ? -1 : 0, "%s: %s", rows[i].source, err.cause);
			cr_expect(!err.exit_code || strstr(err.cause, rows[i].source), "%s", err.cause);
		}
	/* An environment in the workspace that holds the tree is shown read-only there. */
	prepare(true);
	policy.native = AJ_NATIVE_TREE;
	policy.workspace = AJ_WORKSPACE_READ_WRITE;
	request.workspace = "/ws";
	request.rootfs = "/ws/venv/lib/rootfs";
	cr_expect_eq(build(), -1);
	*AJ_PUSH(&arena, &request.environments) = "/ws/venv";
	must_build();
	/* A command's policy has other walls. */
	prepare(false);
	policy.native = AJ_NATIVE_TREE;
	must_build();
	cr_expect_eq(plan.profile, AJ_PROFILE_COMMAND);
	cr_expect_str_eq(enforced("machine_code"), "(missing)");
}

Test(plan, binds_of_the_policy_come_first)
{
	prepare(false);
	*AJ_PUSH(&arena, &policy.binds) = "/srv/a:/data:rw";
	*AJ_PUSH(&arena, &policy.binds) = "/srv/b";
	bind("/src", "/work", true);
	must_build();
	const struct aj_mount *data = mount_at("/data"), *b = mount_at("/srv/b"), *work = mount_at("/work");
	cr_assert(data && b && work);
	cr_expect(data < b && b < work);
	cr_expect(strcmp(data->source, "/srv/a") == 0 && data->flags == 0 && b->flags == (AJ_RO | AJ_OVERLAY));
	cr_expect_str_eq(data->why, "asked for by the policy");
	cr_expect_str_eq(work->why, "asked for by the caller");
	static const char *const bad[] = { "/a:b", "", "/a:/b:x", "/a:/usr/lib", "/a:/proc" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		prepare(false);
		*AJ_PUSH(&arena, &policy.binds) = bad[i];
		cr_expect_eq(build(), -1, "%s", bad[i]);
		cr_expect_eq(err.exit_code, AJ_EXIT_USAGE);
		cr_expect_str_eq(err.step, "bind");
	}
}

/* Unix sockets */

Test(plan, connect_is_mediated_where_host_inodes_are_in_reach)
{
	prepare(false);
	bind("/src", "/data", false);
	must_build();
	cr_expect_not(plan.mediated);
	cr_expect_eq(plan.deny & (AJ_DENY_CONNECT | AJ_DENY_UNIX), 0);
	const struct aj_built bound = { .plan = &plan, .reaches_sockets = true };
	cr_expect(aj_built_mediated(&bound), "as the builder says");
	cr_expect_eq(aj_built_deny(&bound) & (AJ_DENY_CONNECT | AJ_DENY_UNIX), AJ_DENY_CONNECT);
	prepare(false);
	bind("/src", "/data", true);
	*AJ_PUSH(&arena, &policy.sockets) = "/src/a.sock";
	must_build();
	cr_expect(plan.mediated);
	cr_expect_eq(plan.deny & (AJ_DENY_CONNECT | AJ_DENY_UNIX), AJ_DENY_CONNECT);
	cr_assert_eq(plan.sockets.count, 1);
	cr_expect_str_eq(plan.sockets.items[0], "/src/a.sock");
	cr_expect(strstr(enforced("unix_sockets"), "mediated"), "%s", enforced("unix_sockets"));
	cr_expect(strstr(plan.without_listener, "refused"), "%s", plan.without_listener);
	for (int denied = 0; denied < 2; denied++) {
		prepare(!denied);
		policy.exec = true;
		policy.deny_syscalls = denied ? AJ_DENY_SOCKETS : 0;
		bind("/src", "/data", true);
		must_build();
		cr_expect_not(plan.mediated, "%s", denied ? "without sockets" : "a snippet under the list of commands");
		cr_expect_eq(plan.deny & (AJ_DENY_CONNECT | AJ_DENY_UNIX), denied ? 0 : AJ_DENY_UNIX);
		cr_expect_null(plan.without_listener);
	}
}

/* The caller's terminal */

Test(plan, a_terminal_of_its_own)
{
	static const struct {
		unsigned given;
		bool snippet, front, want_front;
		unsigned want;
	} rows[] = { { 0, false, true, false, 0 },
		     { 7, false, true, true, 7 },
		     { 6, false, false, false, 6 },
		     { 7, true, true, false, 0 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		prepare(rows[i].snippet);
		request.command.terminal = rows[i].given;
		request.command.terminal_foreground = rows[i].front;
		request.command.terminal_fd = 1;
		*AJ_PUSH(&arena, &request.command.terminal_env) = "TERM=xterm";
		policy.escapes = AJ_ESCAPES_FILTERED;
		must_build();
		cr_expect_eq(plan.terminal, rows[i].want, "row %zu", i);
		cr_expect_eq(plan.terminal_foreground, rows[i].want_front, "row %zu", i);
		cr_expect_eq(plan.terminal_fd, rows[i].want ? 1 : -1, "row %zu", i);
		if (rows[i].want)
			cr_expect(strstr(enforced("terminal"), "one of its own"), "%s", enforced("terminal"));
	}
}

/* Workspaces and masks */

Test(plan, workspace)
{
	BOTH_KINDS(snippet) {
		for (int mode = AJ_WORKSPACE_READ_ONLY; mode <= AJ_WORKSPACE_READ_WRITE;
		     mode += AJ_WORKSPACE_READ_WRITE - AJ_WORKSPACE_READ_ONLY) {
			prepare(snippet);
			policy.workspace = (enum aj_workspace)mode;
			cr_expect_eq(build(), -1, "without a folder");
			cr_expect(err.exit_code == AJ_EXIT_USAGE && strstr(err.fix, "--workspace"), "%s", err.fix);
			request.workspace = "/home/u/project";
			*AJ_PUSH(&arena, &policy.binds) = "/srv/git:/workspace/.git";
			must_build();
			const struct aj_mount *w = mount_at("/workspace");
			cr_assert_not_null(w);
			cr_expect_str_eq(w->source, "/home/u/project");
			cr_expect_eq(w->flags,
			             (mode == AJ_WORKSPACE_READ_ONLY ? AJ_RO | AJ_OVERLAY : 0) | (snippet ? AJ_NOEXEC : 0), "%u",
			             w->flags);
			cr_expect(mount_at("/workspace/.git") > w, "what is bound into it lies on top");
			cr_expect_str_eq(plan.chdir, "/workspace");
			cr_expect(strstr(enforced("filesystem"),
			                 mode == AJ_WORKSPACE_READ_ONLY ? ", read-only w" : ", writable w"),
			          "%s", enforced("filesystem"));
			request.command.chdir = "/tmp";
			must_build();
			cr_expect_str_eq(plan.chdir, "/tmp");
			bind("/src", "/workspace", false);
			cr_expect_eq(build(), -1, "a bind over the workspace");
		}
		prepare(snippet);
		request.workspace = "/home/u/project";
		cr_expect_eq(build(), -1, "a folder that the policy does not show");
		cr_expect_str_eq(err.step, "workspace");
	}
}

static void same_path_of(const char *path)
{
	prepare(false);
	policy.workspace = AJ_WORKSPACE_READ_WRITE;
	policy.workspace_at = AJ_AT_SAME;
	request.workspace = path;
}

Test(plan, workspace_at_its_own_path)
{
	static const char *const good[] = { "/home/u/project", "/tmp/x", "/var/tmp/x/y", "/srv", "/workspaces", "/etcetera" };
	static const char *const bad[] = { "/",          "/tmp",    "/usr/src/x", "/etc/x", "/proc/1",
		                           "/dev/shm/x", "/output", "/input/x",   "/lib/x" };
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		same_path_of(good[i]);
		*AJ_PUSH(&arena, &policy.masks) = "/workspace/.env";
		must_build();
		cr_expect_str_eq(mount_at(good[i])->source, good[i]);
		cr_expect_str_eq(mount_at("/workspace")->source, good[i]);
		cr_expect_eq(mount_at("/workspace")->kind, AJ_MOUNT_SYMLINK);
		cr_expect_str_eq(plan.chdir, good[i]);
		cr_expect_eq(plan.mounts.items[plan.mounts.count - 1].kind, AJ_MOUNT_MASK);
		cr_expect(aj_path_below(plan.mounts.items[plan.mounts.count - 1].target, good[i]),
		          "a mask follows the workspace");
		cr_expect_not(aj_plan_unheld(&plan, mount_at(good[i])), "its places are held");
		bind("/src", good[i], true);
		cr_expect_eq(build(), -1, "a bind over the workspace");
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		same_path_of(bad[i]);
		cr_expect_eq(build(), -1, "%s", bad[i]);
		cr_expect(strstr(err.fix, "--workspace-at"), "%s", err.fix);
	}
	same_path_of("/workspace");
	must_build();
	cr_expect_eq(mount_at("/workspace")->kind, AJ_MOUNT_BIND);
	same_path_of("/home/u/project");
	bind("/home/u", "/home/u", false);
	cr_expect_eq(build(), -1, "a bind over a folder above the workspace");
	same_path_of("/repo/trees/one");
	request.main_repository = "/repo";
	policy.worktree = AJ_WORKTREE_SHARED;
	must_build();
	cr_expect(mount_at("/repo") < mount_at("/repo/trees/one"), "of two that lie in one another the outer one comes first");
}

Test(plan, masks_come_last)
{
	prepare(false);
	policy.workspace = AJ_WORKSPACE_READ_WRITE;
	request.workspace = "/w";
	bind("/src", "/work", true);
	*AJ_PUSH(&arena, &policy.masks) = "/workspace/.env";
	*AJ_PUSH(&arena, &policy.masks) = "/usr/bin/env";
	*AJ_PUSH(&arena, &policy.masks) = "a/b:if-present";
	must_build();
	static const char *const targets[] = { "/workspace/.env", "/usr/bin/env", "/workspace/a/b" };
	for (size_t i = 0; i < 3; i++) {
		const struct aj_mount *m = &plan.mounts.items[plan.mounts.count - 3 + i];
		cr_expect_eq(m->kind, AJ_MOUNT_MASK);
		cr_expect_str_eq(m->target, targets[i]);
		cr_expect_eq((m->flags & AJ_OPTIONAL) != 0, i == 2);
	}
	static const char *const bad[] = { "", "/", "a/", "../a", "/a/", "/a/../b", "//a", "/a/." };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		prepare(false);
		*AJ_PUSH(&arena, &policy.masks) = bad[i];
		cr_expect_eq(build(), -1, "%s", bad[i]);
		cr_expect_str_eq(err.step, "mask");
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
	cr_expect_eq(rlimit_of(RLIMIT_NPROC)->value, 11,
	             "of its refusals the kernel keeps no count, so pids.max must come first");
	cr_expect(!plan.memory_by_rlimit && !rlimit_of(RLIMIT_AS) && !rlimit_of(RLIMIT_DATA));
	cr_expect(strstr(enforced("memory"), "memory.max") && strstr(enforced("pids"), "pids.max"));
	host.cgroup_controllers = AJ_CGROUP_PIDS;
	must_build();
	cr_expect(!cgroup_row("memory.max") && cgroup_row("pids.max") && plan.memory_by_rlimit);
	cr_expect(strstr(enforced("memory"), "RLIMIT_AS"));
}

Test(plan, share_of_processors)
{
	static const struct {
		uint64_t percent;
		unsigned controllers; /* 0: no cgroup */
		bool strict, ok;
		const char *row, *says;
	} rows[] = {
		{ 0, AJ_CGROUP_CPU | AJ_CGROUP_PIDS, false, true, NULL, "(missing)" },
		{ 1, AJ_CGROUP_CPU | AJ_CGROUP_PIDS, false, true, "1000 100000", "cgroup v2 cpu.max" },
		{ 50, AJ_CGROUP_CPU | AJ_CGROUP_PIDS, false, true, "50000 100000", "cgroup v2 cpu.max" },
		{ 100000, AJ_CGROUP_CPU | AJ_CGROUP_PIDS, true, true, "100000000 100000", "cgroup v2 cpu.max" },
		{ 50, AJ_CGROUP_PIDS, false, true, NULL, "affinity to 1 of 4 processors (no cpu cgroup), which is more than" },
		{ 100, 0, false, true, NULL, "affinity to 1 of 4 processors (no cpu cgroup)" },
		{ 250, 0, false, true, NULL, "affinity to 3 of 4 processors (no cpu cgroup), which is more than" },
		{ 350, 0, false, true, NULL, "none: no cpu cgroup" },
		{ 400, 0, false, true, NULL, "not needed: the host has only 4 processors" },
		{ 50, AJ_CGROUP_PIDS, true, false, NULL, NULL },
		{ 50, 0, true, false, NULL, NULL },
		{ 0, 0, true, true, NULL, "(missing)" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		prepare(true);
		policy.memory_bytes = policy.pids = 0;
		policy.cpu_percent = rows[i].percent;
		policy.enforce = rows[i].strict ? AJ_ENFORCE_STRICT : AJ_ENFORCE_BEST_EFFORT;
		host.cgroup = rows[i].controllers ? "/cg" : NULL;
		host.cgroup_controllers = rows[i].controllers;
		host.processors = 4;
		cr_expect_eq(build(), rows[i].ok ? 0 : -1, "row %zu: %s", i, err.cause);
		cr_expect_eq(aj_plan_lacks_cgroup(&policy, &host), !rows[i].ok, "row %zu: systemd is asked", i);
		if (!rows[i].ok) {
			cr_expect(strstr(err.cause, "cpu_percent") && err.fix[0], "row %zu: %s", i, err.cause);
			continue;
		}
		const char *row = cgroup_row("cpu.max");
		cr_expect((!row && !rows[i].row) || (row && rows[i].row && strcmp(row, rows[i].row) == 0), "row %zu: %s", i, row);
		cr_expect(strncmp(enforced("cpu"), rows[i].says, strlen(rows[i].says)) == 0, "row %zu: %s", i, enforced("cpu"));
	}
}

/* A command is told how many processors it has, and cannot take more of them. */
Test(plan, processors_of_a_command)
{
	prepare(false);
	host.processors = 4;
	policy.cpu_percent = 150;
	request.env = (__typeof__(request.env)){ .items = (const char *[]){ "GOMAXPROCS=9" }, .count = 1 };
	must_build();
	cr_expect_eq(plan.processors, 2);
	cr_expect(plan.deny & AJ_DENY_AFFINITY);
	cr_expect_str_eq(env("OMP_NUM_THREADS"), "2");
	cr_expect_str_eq(env("GOMAXPROCS"), "9", "the caller's own wins");
	host.cgroup = "/cg";
	host.cgroup_controllers = AJ_CGROUP_CPU;
	must_build();
	cr_expect_eq(plan.processors, 0, "cpu.max is exact");
	cr_expect_not(plan.deny & AJ_DENY_AFFINITY);
	cr_expect_str_eq(env("OMP_NUM_THREADS"), "2");
	policy.cpu_percent = 400;
	must_build();
	cr_expect_null(env("OMP_NUM_THREADS"));
	policy.cpu_percent = 50;
	host.processors = 0;
	must_build();
	cr_expect_null(env("OMP_NUM_THREADS"));
}

/* systemd is asked for a scope only where the policy would be refused without one. */
Test(plan, a_cgroup_is_demanded)
{
	enum { BOTH = AJ_CGROUP_MEMORY | AJ_CGROUP_PIDS };
	static const struct {
		enum aj_enforce enforce;
		uint64_t require, memory, pids;
		unsigned controllers;
		bool lacks;
	} rows[] = {
		{ AJ_ENFORCE_BEST_EFFORT, 0, 1 << 30, 9, 0, false },
		{ AJ_ENFORCE_BEST_EFFORT, AJ_WALL_MEMORY_CGROUP, 1 << 30, 9, 0, true },
		{ AJ_ENFORCE_BEST_EFFORT, AJ_WALL_PIDS_CGROUP, 1 << 30, 9, 0, true },
		{ AJ_ENFORCE_BEST_EFFORT, AJ_WALL_PIDS_CGROUP, 1 << 30, 9, AJ_CGROUP_MEMORY, true },
		{ AJ_ENFORCE_BEST_EFFORT, AJ_WALL_PIDS_CGROUP, 1 << 30, 9, AJ_CGROUP_PIDS, false },
		{ AJ_ENFORCE_BEST_EFFORT, AJ_WALL_PIDS_CGROUP, 1 << 30, 0, 0, false }, /* no scope could help */
		{ AJ_ENFORCE_BEST_EFFORT, AJ_WALL_LANDLOCK, 1 << 30, 9, 0, false },
		{ AJ_ENFORCE_STRICT, 0, 1 << 30, 9, 0, true },
		{ AJ_ENFORCE_STRICT, 0, 1 << 30, 9, AJ_CGROUP_MEMORY, true },
		{ AJ_ENFORCE_STRICT, 0, 1 << 30, 9, BOTH, false },
		{ AJ_ENFORCE_STRICT, 0, 0, 0, 0, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		prepare(true);
		policy.enforce = rows[i].enforce;
		policy.require = rows[i].require;
		policy.memory_bytes = rows[i].memory;
		policy.pids = rows[i].pids;
		host.cgroup = rows[i].controllers ? "/cg" : NULL;
		host.cgroup_controllers = rows[i].controllers;
		cr_expect_eq(aj_plan_lacks_cgroup(&policy, &host), rows[i].lacks, "row %zu", i);
	}
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

/* A workspace whose changes are kept apart */

Test(plan, changes_kept_apart)
{
	static const struct {
		enum aj_workspace mode;
		unsigned flag;
	} modes[] = { { AJ_WORKSPACE_OVERLAY, AJ_LAYERED }, { AJ_WORKSPACE_COPY, AJ_COPIED } };
	BOTH_KINDS(snippet) {
		for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
			prepare(snippet);
			policy.workspace = modes[i].mode;
			policy.workspace_bytes = 1 << 20;
			request.workspace = "/srv/project";
			must_build();
			const struct aj_mount *row = aj_plan_match_path(&plan, AJ_WORKSPACE "/x").row;
			cr_assert(row && row->flags & modes[i].flag && !(row->flags & (AJ_RO | AJ_OVERLAY)));
			cr_expect(!plan.writable_workspace && !plan.quarantine, "no change reaches the folder");
			cr_expect_str_eq(plan.staged_workspace, "/srv/project");
			cr_expect_eq(plan.workspace_bytes, 1 << 20, "what is kept apart is limited, too");
			cr_expect(aj_mount_is_shared(row) && !aj_mount_shows_host_inodes(row));
			cr_expect_not_null(aj_plan_warm_why_not(&plan), "each run has changes of its own");
			request.lasting = true;
			cr_expect_eq(build(), -1, "a session has no end at which its changes are kept");
			cr_expect(strstr(err.cause, "apart") && err.fix[0], "%s", err.cause);
		}
		prepare(snippet);
		policy.workspace = AJ_WORKSPACE_READ_WRITE;
		request.workspace = "/srv/project";
		request.changes = "x";
		cr_expect_eq(build(), -1, "a writable workspace continues with nothing");
		cr_expect_str_eq(err.step, "changes");
	}
}

Test(plan, no_launch_without_a_folder_for_changes)
{
	prepare(false);
	policy.workspace = AJ_WORKSPACE_OVERLAY;
	request.workspace = "/srv/project";
	must_build();
	struct aj_process process;
	cr_expect_eq(aj_launch(&(struct aj_built){ .plan = &plan }, &process, &err), -1);
	cr_expect(strstr(err.cause, "changes"), "%s", err.cause);
}

/* Walls that are required */

Test(plan, an_inspection_wants_no_inputs)
{
	BOTH_KINDS(snippet) {
		prepare(snippet);
		policy.workspace = AJ_WORKSPACE_OVERLAY;
		policy.enforce = AJ_ENFORCE_STRICT;
		policy.require = AJ_WALL_LANDLOCK | AJ_WALL_MEMORY_CGROUP;
		host.landlock_abi = 0;
		host.uid = host.gid = 0;
		host.init_root = true;
		request = (struct aj_request){ .is_snippet = snippet, .inspect = true };
		must_build();
		cr_expect(plan.inspect && plan.argv[0]);
		cr_expect(strncmp(enforced("pids"), "none: ", 6) == 0, "nothing is said to stand that would not: %s",
		          enforced("pids"));
		FILE *out = fopen("/dev/null", "w");
		aj_plan_dump(&plan, out);
		fclose(out);
	}
}

Test(plan, required_walls)
{
	enum { CGROUP = AJ_CGROUP_MEMORY | AJ_CGROUP_PIDS, LIMITS = 1 << 30 };
	static const struct {
		uint64_t wall;
		const char *name;
		int abi;
		unsigned controllers; /* 0: no cgroup */
		uint64_t memory, pids;
		enum aj_network network;
		bool snippet, layer;
		int want; /* exit code */
	} rows[] = {
		{ AJ_WALL_LANDLOCK, "landlock", 1, 0, 0, 9, AJ_NET_HOST, false, false, 0 },
		{ AJ_WALL_LANDLOCK, "landlock", 0, CGROUP, LIMITS, 9, AJ_NET_NONE, false, true, AJ_EXIT_SETUP },
		{ AJ_WALL_MEMORY_CGROUP, "memory-cgroup", 0, CGROUP, LIMITS, 9, AJ_NET_NONE, false, false, 0 },
		{ AJ_WALL_MEMORY_CGROUP, "memory-cgroup", 0, CGROUP, 0, 9, AJ_NET_NONE, false, false, AJ_EXIT_USAGE },
		{ AJ_WALL_MEMORY_CGROUP, "memory-cgroup", 9, AJ_CGROUP_PIDS, LIMITS, 9, AJ_NET_NONE, true, true, AJ_EXIT_SETUP },
		{ AJ_WALL_MEMORY_CGROUP, "memory-cgroup", 9, 0, LIMITS, 9, AJ_NET_NONE, true, true, AJ_EXIT_SETUP },
		{ AJ_WALL_PIDS_CGROUP, "pids-cgroup", 0, CGROUP, 0, 9, AJ_NET_NONE, false, false, 0 },
		{ AJ_WALL_PIDS_CGROUP, "pids-cgroup", 0, CGROUP, LIMITS, 0, AJ_NET_NONE, false, false, AJ_EXIT_USAGE },
		{ AJ_WALL_PIDS_CGROUP, "pids-cgroup", 9, AJ_CGROUP_MEMORY, LIMITS, 9, AJ_NET_NONE, true, true, AJ_EXIT_SETUP },
		{ AJ_WALL_NETWORK, "network", 0, 0, 0, 9, AJ_NET_NONE, false, false, 0 },
		{ AJ_WALL_NETWORK, "network", 0, 0, 0, 9, AJ_NET_LOOPBACK, false, false, 0 },
		{ AJ_WALL_NETWORK, "network", 9, CGROUP, LIMITS, 9, AJ_NET_HOST, false, false, AJ_EXIT_USAGE },
		{ AJ_WALL_PYTHON_LAYER, "python-layer", 0, 0, 0, 9, AJ_NET_NONE, true, true, 0 },
		{ AJ_WALL_PYTHON_LAYER, "python-layer", 9, CGROUP, LIMITS, 9, AJ_NET_NONE, true, false, AJ_EXIT_USAGE },
		{ AJ_WALL_PYTHON_LAYER, "python-layer", 9, CGROUP, LIMITS, 9, AJ_NET_NONE, false, true, AJ_EXIT_USAGE },
		{ 1ULL << 40, "a wall", 9, CGROUP, LIMITS, 9, AJ_NET_NONE, true, true, AJ_EXIT_SETUP },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		prepare(rows[i].snippet);
		host.landlock_abi = rows[i].abi;
		host.cgroup = rows[i].controllers ? "/cg" : NULL;
		host.cgroup_controllers = rows[i].controllers;
		policy.memory_bytes = rows[i].memory;
		policy.pids = rows[i].pids;
		policy.network = rows[i].network;
		policy.layer = rows[i].layer;
		cr_expect_eq(build(), 0, "row %zu without the requirement: %s", i, err.cause);
		policy.require = rows[i].wall;
		cr_expect_eq(build(), rows[i].want ? -1 : 0, "row %zu: %s", i, err.cause);
		cr_expect_eq(err.exit_code, rows[i].want, "row %zu: %d", i, err.exit_code);
		if (!rows[i].want)
			continue;
		cr_expect_str_eq(err.step, "require");
		cr_expect(strstr(err.cause, rows[i].name), "row %zu: %s", i, err.cause);
	}
}

/* The rest */

Test(plan, denied_groups)
{
	static const struct {
		bool snippet, exec, fork;
		uint64_t asked, want;
	} rows[] = {
		{ false, true, true, 0, AJ_LOCKS_MEDIATED },
		{ false, true, false, 0, AJ_DENY_FORK | AJ_LOCKS_MEDIATED },
		{ false, true, false, AJ_DENY_IPC, AJ_DENY_IPC | AJ_DENY_FORK | AJ_LOCKS_MEDIATED },
		{ false, true, true, AJ_DENY_THREADS | AJ_DENY_MEMFD, AJ_DENY_THREADS | AJ_DENY_MEMFD | AJ_LOCKS_MEDIATED },
		{ true, false, false, 0, AJ_LOCKS_INSIDE },
		{ true, false, false, AJ_DENY_SOCKETS, AJ_DENY_SOCKETS | AJ_LOCKS_INSIDE },
		{ true, false, false, AJ_DENY_LOCKS, AJ_DENY_LOCKS },
		{ false, true, true, AJ_DENY_LOCKS, AJ_DENY_LOCKS },
		{ true, true, false, 0, AJ_DENY_FORK | AJ_LOCKS_MEDIATED },
		{ true, true, true, 0, AJ_LOCKS_MEDIATED },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		prepare(rows[i].snippet);
		policy.exec = rows[i].exec;
		policy.fork = rows[i].fork;
		policy.deny_syscalls = rows[i].asked;
		must_build();
		cr_expect_eq(plan.deny, rows[i].want | (rows[i].exec ? AJ_SYNC_INSIDE | AJ_TCP_OPTIONS | AJ_DENY_PTRACE : 0),
		             "row %zu: %#lx", i, plan.deny);
		cr_expect_eq(plan.profile, rows[i].exec ? AJ_PROFILE_COMMAND : AJ_PROFILE_SNIPPET);
		cr_expect_eq(strstr(enforced("seccomp"), ", without ") != NULL,
		             (rows[i].want & ~(uint64_t)(AJ_LOCKS_INSIDE | AJ_LOCKS_MEDIATED)) != 0, "%s", enforced("seccomp"));
	}
	/* A process that works on a file together with others needs the kernel's locks. */
	prepare(true);
	bind("/src", "/data", false);
	must_build();
	cr_expect_eq(plan.deny, AJ_LOCKS_INSIDE);
	prepare(true);
	bind("/src", "/data", true);
	must_build();
	cr_expect_eq(plan.deny, AJ_LOCKS_MEDIATED);
	cr_expect_not_null(strstr(enforced("locks"), "bound writable"));
}

/* A read-only folder is an overlay, but for what lasts: an overlay shows names as they were. */
Test(plan, overlays)
{
	static const struct {
		bool snippet, lasting, writable, data, usr;
	} rows[] = {
		{ false, false, false, true, true }, { false, false, true, false, true }, { true, false, false, true, false },
		{ true, false, true, false, false }, { true, true, false, false, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		prepare(rows[i].snippet);
		request.lasting = rows[i].lasting;
		bind("/src", "/data", rows[i].writable);
		must_build();
		const struct aj_mount *data = mount_at("/data");
		cr_expect_eq(aj_mount_shows_host_inodes(data), !rows[i].data, "row %zu", i);
		cr_expect_eq(aj_mount_shows_host_inodes(mount_at("/usr")), !rows[i].usr, "row %zu", i);
		cr_expect_eq(strstr(enforced("filesystem"), " below /data") != NULL, !rows[i].data, "%s", enforced("filesystem"));
		cr_expect_not(aj_mount_shows_host_inodes(mount_at("/dev/null")) || aj_mount_shows_host_inodes(mount_at("/tmp")));
	}
}

/* A link into /usr is made anew, everything else is shown; before the files that are written, and for commands alone. */
Test(plan, etc)
{
	static struct aj_etc_entry entries[] = { { "/etc/fonts", NULL, "fonts", true },
		                                 { "/etc/java", NULL, "a link to elsewhere", false },
		                                 { "/etc/localtime", "/usr/share/zoneinfo/UTC", "zone", false } };
	BOTH_KINDS(snippet) {
		prepare(snippet);
		host.etc.items = entries;
		host.etc.count = 3;
		must_build();
		const struct aj_mount *fonts = mount_at("/etc/fonts"), *zone = mount_at("/etc/localtime");
		cr_expect((fonts == NULL) == snippet && (zone == NULL) == snippet);
		if (snippet)
			continue;
		cr_expect_eq(fonts->kind, AJ_MOUNT_BIND);
		cr_expect_str_eq(fonts->source, "/etc/fonts");
		cr_expect_eq(fonts->flags, AJ_RO | AJ_OVERLAY | AJ_FOLLOW | AJ_OPTIONAL | AJ_NOEXEC | AJ_PART);
		cr_expect_eq(mount_at("/etc/java")->flags, fonts->flags & ~(unsigned)AJ_PART, "opened by itself");
		cr_expect_eq(zone->kind, AJ_MOUNT_SYMLINK);
		cr_expect_str_eq(zone->source, "/usr/share/zoneinfo/UTC");
		cr_expect(zone < mount_at("/etc/passwd"));
	}
}

/* The tree is the policy's choice, and it must be one for what is asked. */
Test(plan, rootfs_by_name)
{
	prepare(false);
	policy.rootfs = "default";
	request.rootfs = "/rootfs";
	static char *python[] = { "/usr/bin/python3", "-c", "print(1)", NULL };
	request.command.argv = python;
	must_build();
	cr_expect_str_eq(mount_at("/usr")->source, "/rootfs/tree/usr");
	cr_expect(mount_at("/lib64") && mount_at("/etc/passwd") && mount_at("/proc") && !mount_at("/etc/alternatives"));
	cr_expect(strstr(enforced("filesystem"), "rootfs"));
	request.rootfs = NULL;
	cr_expect_eq(build(), -1, "a tree that nobody found");
	cr_expect_str_eq(err.step, "rootfs");
	policy.rootfs = "host";
	must_build();
	request.rootfs = "/rootfs";
	cr_expect_eq(build(), -1, "a tree that no mount would show");
	cr_expect(err.exit_code == AJ_EXIT_USAGE && strstr(err.cause, "`/rootfs`") && strstr(err.fix, "filesystem.rootfs"));
	prepare(true);
	policy.rootfs = "host";
	cr_expect_eq(build(), -1, "no runner in there");
	cr_expect(err.exit_code == AJ_EXIT_USAGE && strcmp(err.step, "rootfs") == 0 && err.fix[0]);
	prepare(false);
	policy.exec = false;
	cr_expect_eq(build(), -1, "a command without exec");
	cr_expect(err.exit_code == AJ_EXIT_USAGE && strcmp(err.step, "policy") == 0 && strstr(err.cause, "process.exec"), "%s",
	          err.cause);
}

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
	request.command.chdir = "/work";
	must_build();
	cr_expect(plan.capture);
	cr_expect_str_eq(plan.chdir, "/work");
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

Test(plan, branching)
{
	prepare(true);
	must_build();
	cr_expect_not(plan.branching);
	request.branching = true;
	must_build();
	cr_expect(plan.branching);
	cr_expect_str_eq(enforced("landlock"), "ABI 3; the mounts alone decide where the jail may write, for branching");
	cr_expect_not_null(strstr(enforced("namespaces"), "a branch has its own user and mount"));
	policy.proc = true;
	cr_expect_eq(aj_plan_build(&plan, &arena, &policy, &request, &host, &err), -1, "/proc");
	cr_expect_str_eq(err.step, "branching");
	prepare(true);
	request.branching = true;
	policy.workspace = AJ_WORKSPACE_READ_WRITE;
	request.workspace = "/srv";
	cr_expect_eq(aj_plan_build(&plan, &arena, &policy, &request, &host, &err), -1, "a workspace that is written to");
	policy.workspace = AJ_WORKSPACE_READ_ONLY;
	err = (struct aj_error){ 0 };
	must_build();
	prepare(false);
	request.branching = true;
	cr_expect_eq(aj_plan_build(&plan, &arena, &policy, &request, &host, &err), -1, "a command");
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
		                             "  TOKEN  # value not shown\n",
		                             " <- /src rw,nosuid,nodev",
		                             "cgroup: none\n",
		                             "  execve\n",
		                             "  RLIMIT_CORE 1 " };
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		cr_expect(strstr(text, lines[i]), "no `%s` in the plan", lines[i]);
	cr_expect_null(strstr(text, "  setns"), "refused calls are not listed as allowed");
	cr_expect_null(strstr(text, "denied in spite of the list"));
	free(text);
	policy.deny_syscalls = AJ_DENY_MEMFD | AJ_DENY_THREADS;
	*AJ_PUSH(&arena, &policy.masks) = "/work/.env";
	must_build();
	text = dump();
	static const char *const more[] = { "denied in spite of the list: threads\n  clone arg0&0x10000==0x10000",
		                            "denied in spite of the list: memfd\n  memfd_create", "  mask    /work/.env" };
	for (size_t i = 0; i < sizeof more / sizeof *more; i++)
		cr_expect(strstr(text, more[i]), "no `%s` in the plan", more[i]);
	free(text);
}
