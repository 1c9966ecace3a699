/* Tests of reported refusals: a report stands exactly where an error stood, nobody's answer lets a call pass, and all are counted.
 * Children lock themselves in and call; this process is their supervisor. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../bpf.h"
#include "base/fd.h"
#include "jail/result/result.h"
#include "policy/load/load.h"
#include "policy/seccomp/notify.h"
#include "sandbox/handshake.h"

enum { NETWORKS = AJ_NET_HOST + 1, ALL = (1 << AJ_DENY_GROUPS) - 1 };
#define NATIVE seccomp_arch_native()

static struct sock_filter plain_room[AJ_FILTER_ROOM], reported_room[AJ_FILTER_ROOM];
static struct aj_filter plain, reported;
static struct aj_plan plan;

static void build(enum aj_profile profile, enum aj_network network, uint64_t deny)
{
	plan = (struct aj_plan){ .profile = profile, .network = network, .deny = deny };
	plain = aj_filter_build(profile, network, deny, plain_room);
	memcpy(reported_room, plain.insns, plain.count * sizeof *plain.insns);
	aj_filter_report(reported_room, plain.count);
	reported = (struct aj_filter){ reported_room, plain.count };
}

/* One call, under both. */
static void ask(uint32_t arch, int nr, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = nr, .arch = arch };
	memcpy(data.args, args, sizeof data.args);
	uint32_t before = interpret(&plain, &data), after = interpret(&reported, &data);
	bool error = (before & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO && (before & SECCOMP_RET_DATA) != ENOSYS &&
	             (before & SECCOMP_RET_DATA);
	/* A kernel's answers to an option that it does not know may be quiet. */
	uint32_t errnum = before & SECCOMP_RET_DATA;
	if (error && (errnum == EINVAL || errnum == ENOTTY) && after == before)
		return;
	cr_assert_eq(after, error ? SECCOMP_RET_USER_NOTIF : before, "%d: %#x became %#x", nr, before, after);
	if (!error)
		return;
	const char *name = aj_syscall_names[nr];
	cr_assert_not_null(name, "%d has no name", nr);
	const struct aj_syscall *row = aj_syscalls_refusal(plan.profile, plan.network, plan.deny, name, args);
	cr_assert_not_null(row, "`%s` has no row", name);
	cr_assert_eq((uint32_t)row->errnum, before & SECCOMP_RET_DATA, "`%s` gets the error that it got before", name);
	cr_assert(row->why && row->instead && strlen(row->instead) > 20, "`%s` says what to do instead", name);
}

static int ask_row(const struct aj_syscall *row, void *data)
{
	uint64_t args[6] = { 0 };
	int nr = seccomp_syscall_resolve_name(row->name);
	(void)data;
	for (int i = 0; i < AJ_SYSCALL_ARGS; i++)
		args[row->arg[i].index] |= row->arg[i].value;
	if (nr >= 0)
		ask(NATIVE, nr, args);
	return 0;
}

/* The errno of both the plain filter and the table; 0: allowed. */
static int refusal(int nr, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = nr, .arch = NATIVE };
	memcpy(data.args, args, sizeof data.args);
	const struct aj_syscall *row = aj_syscalls_refusal(plan.profile, plan.network, plan.deny, aj_syscall_names[nr], args);
	unsigned answer = interpret(&plain, &data);
	int errnum = answer == SECCOMP_RET_ALLOW ? 0 : (int)(answer & SECCOMP_RET_DATA);
	cr_expect_eq(errnum, row ? row->errnum : 0, "call %d: %#x", nr, answer);
	return errnum;
}

Test(violations, a_report_stands_where_an_error_stood)
{
	static const uint64_t values[] = { 0, 1, 2, 3, 10, 16, 17, 0x10000, 0x3d0f00, 0xffffffff, 0xdeadbeef00000002 };
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++)
			for (uint64_t deny = 0; deny <= ALL + 1; deny = deny ? deny << 1 : 1) {
				build((enum aj_profile)p, (enum aj_network)n, deny == 1 << AJ_DENY_GROUPS ? ALL : deny);
				aj_syscalls_each(plan.profile, plan.network, ask_row, NULL);
				for (int g = 0; g < AJ_DENY_GROUPS; g++)
					aj_syscalls_denied_each(1ULL << g, ask_row, NULL);
				for (int nr = 0; nr < 512; nr++)
					for (size_t v = 0; v < sizeof values / sizeof *values; v++)
						ask(NATIVE, nr, (const uint64_t[6]){ values[v], values[v], values[v] });
				ask(0x40000003, 20, (const uint64_t[6]){ 0 });
				ask(NATIVE, 0x40000000, (const uint64_t[6]){ 0 });
			}
}

Test(violations, connects_and_datagrams_are_reported)
{
	const uint64_t stream[6] = { 1, 0x80001 }, datagram[6] = { 1, 0x80802 }, raw[6] = { 1, 3 }, inet[6] = { 2, 2 };
	for (int n = 0; n < NETWORKS; n++) {
		build(AJ_PROFILE_COMMAND, (enum aj_network)n, AJ_DENY_CONNECT);
		ask(NATIVE, SYS_connect, stream);
		for (int nr = SYS_socket; nr <= SYS_socketpair; nr += SYS_socketpair - SYS_socket) {
			ask(NATIVE, nr, stream);
			ask(NATIVE, nr, datagram);
			ask(NATIVE, nr, raw);
			ask(NATIVE, nr, inet);
		}
		cr_expect_eq(refusal(SYS_connect, stream), EACCES);
		cr_expect_eq(refusal(SYS_socket, stream), 0);
		cr_expect_eq(refusal(SYS_socket, datagram), EACCES);
		cr_expect_eq(refusal(SYS_socketpair, raw), EACCES);
		cr_expect_eq(refusal(SYS_socketpair, stream), 0);
		build(AJ_PROFILE_COMMAND, (enum aj_network)n, AJ_DENY_UNIX);
		cr_expect_eq(refusal(SYS_connect, stream), 0);
		cr_expect_eq(refusal(SYS_socket, stream), EAFNOSUPPORT);
		cr_expect_eq(refusal(SYS_socketpair, datagram), EACCES);
		cr_expect_eq(refusal(SYS_socketpair, stream), 0);
	}
	build(AJ_PROFILE_COMMAND, AJ_NET_HOST, AJ_DENY_UNIX);
	cr_expect_eq(refusal(SYS_socket, inet), 0);
}

Test(violations, locks_and_shared_tables_are_reported)
{
	const uint64_t lock[6] = { 1, 6 }, look[6] = { 1, 5 }, process[6] = { 17 }, files[6] = { 0x400 | 17 }, thread[6] = { 0x3d0f00 };
	const uint64_t range[6] = { 3, ~0U, 0 }, unshared[6] = { 3, ~0U, 2 };
	build(AJ_PROFILE_COMMAND, AJ_NET_NONE, AJ_LOCKS_MEDIATED);
	for (uint64_t command = 0; command < 40; command++)
		ask(NATIVE, SYS_fcntl, (const uint64_t[6]){ 1, command });
	ask(NATIVE, SYS_flock, lock);
	cr_expect_eq(refusal(SYS_flock, lock), EINVAL);
	cr_expect_eq(refusal(SYS_fcntl, lock), EINVAL);
	cr_expect_eq(refusal(SYS_fcntl, look), 0);
	cr_expect_eq(refusal(SYS_clone, process), 0);
	cr_expect_eq(refusal(SYS_clone, thread), 0);
	cr_expect_eq(refusal(SYS_clone, files), EPERM);
	cr_expect_eq(refusal(SYS_close_range, range), 0);
	cr_expect_eq(refusal(SYS_close_range, unshared), EPERM);
}

Test(violations, only_refused_calls_have_a_refusal)
{
	cr_expect_str_eq(aj_syscall_names[SYS_ptrace], "ptrace");
	cr_expect_null(aj_syscalls_refusal(AJ_PROFILE_COMMAND, AJ_NET_NONE, ALL, "getpid", (const uint64_t[6]){ 0 }));
	cr_expect_null(aj_syscalls_refusal(AJ_PROFILE_COMMAND, AJ_NET_NONE, 0, "socket", (const uint64_t[6]){ 1 }));
}

/* The calls of the hand-over once the filter stands, and those that a process needs to end. */
Test(violations, the_hand_over_is_never_refused)
{
	static const int calls[] = { SYS_write, SYS_read, SYS_close, SYS_munmap, SYS_brk, SYS_exit_group };
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++) {
			build((enum aj_profile)p, (enum aj_network)n, ALL);
			for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
				struct seccomp_data data = { .nr = calls[i], .arch = NATIVE };
				cr_expect_eq(interpret(&reported, &data), SECCOMP_RET_ALLOW, "call %d", calls[i]);
			}
		}
}

/* --- with the kernel --- */

static int ends[2], listener = -1;
static bool untaken;
static struct aj_violations seen;

#define REQUIRE(code, condition)     \
	do {                         \
		if (!(condition))    \
			_exit(code); \
	} while (0)

static int refused(long nr)
{
	return syscall(nr, -1, 0, 0, 0, 0) == -1 ? errno : 0;
}

static void lock_in(void)
{
	struct aj_error err = { 0 };
	int fd = -1;
	REQUIRE(40, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REQUIRE(41, aj_filter_install_reported(&plain, &plain, &fd, &err) == 0 && fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	REQUIRE(39, aj_msg_hand_over(ends[1], fd) == 0);
}

static void open_ends(void)
{
	build(AJ_PROFILE_COMMAND, AJ_NET_NONE, ALL | AJ_DENY_PTRACE);
	seen = (struct aj_violations){ 0 };
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	int on = 1;
	cr_assert_eq(setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
}
TestSuite(violations, .init = open_ends);

/* Answers for a child until it ends; returns its wait status. */
static int supervise(pid_t child)
{
	int status;
	struct aj_msg msg;
	while (waitpid(child, &status, WNOHANG) == 0) {
		pid_t sender;
		if (aj_msg_recv_from(ends[0], &msg, MSG_DONTWAIT, &sender, NULL) == 1) {
			cr_expect(msg.kind == AJ_MSG_LISTENER && sender == child);
			if (!untaken)
				aj_violations_listen(&seen, &listener, sender, getpid(), msg.listener);
			aj_msg_send(ends[0], &(struct aj_msg){ .kind = AJ_MSG_TAKEN });
		}
		if (listener >= 0 && !aj_violations_answer(&seen, &(struct aj_built){ .plan = &plan }, listener, NULL))
			aj_close(&listener);
		usleep(200);
	}
	return status;
}

Test(violations, counted_by_name)
{
	pid_t child = fork();
	if (child == 0) {
		int lowest = dup(0);
		close(lowest);
		lock_in();
		REQUIRE(42, dup(0) == lowest); /* the listener is not here any more */
		for (int i = 0; i < 300; i++)
			REQUIRE(45, refused(SYS_ptrace) == EPERM);
		REQUIRE(46, syscall(SYS_socket, 2, 1, 0) == -1 && errno == EAFNOSUPPORT);
		REQUIRE(47, refused(SYS_sendmsg) == EPERM && refused(SYS_memfd_create) == EPERM);
		REQUIRE(48, refused(SYS_clone3) == ENOSYS);
		_exit(syscall(SYS_getpid) > 0 ? 0 : 49);
	}
	{
		int st = supervise(child);
		cr_expect_eq(st, 0, "status %#x", st);
	}
	cr_assert(seen.seen);
	cr_expect_eq(seen.count, 4);
	cr_expect_eq(seen.total, 303);
	cr_expect_str_eq(seen.items[0].row->name, "ptrace");
	cr_expect_eq(seen.items[0].count, 300);
	cr_expect_eq(seen.items[0].pids_count, 1);
	cr_expect_eq(seen.items[0].pids[0], child);
	cr_expect_eq(seen.items[1].row->errnum, EAFNOSUPPORT);
	cr_expect_str_eq(seen.items[2].row->name, "sendmsg");
}

/* The supervisor has no descriptor left, say. */
Test(violations, a_listener_that_nobody_takes)
{
	pid_t child = fork();
	untaken = true;
	if (child == 0) {
		lock_in();
		REQUIRE(42, refused(SYS_ptrace) == ENOSYS && refused(SYS_mount) == ENOSYS && refused(SYS_socketpair) == ENOSYS);
		_exit(syscall(SYS_getpid) > 0 ? 0 : 49);
	}
	cr_expect_eq(supervise(child), 0);
	cr_expect(!seen.seen && listener < 0);
	untaken = false;
}

/* Denied, whatever becomes of who should answer. */
Test(violations, without_a_listener_nothing_is_let_through)
{
	pid_t child = fork();
	if (child == 0) {
		struct aj_error err = { 0 };
		REQUIRE(40, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && aj_filter_install(&reported, &err) == 0);
		REQUIRE(41, refused(SYS_ptrace) == ENOSYS && refused(SYS_mount) == ENOSYS && refused(SYS_socketpair) == ENOSYS);
		_exit(0);
	}
	cr_expect_eq(supervise(child), 0);
	cr_expect(!seen.seen);
	child = fork();
	if (child == 0) {
		lock_in();
		REQUIRE(42, refused(SYS_ptrace) == ENOSYS);
		_exit(0);
	}
	struct aj_msg msg;
	pid_t sender;
	int status;
	cr_assert_eq(aj_msg_recv_from(ends[0], &msg, 0, &sender, NULL), 1);
	aj_violations_listen(&seen, &listener, sender, getpid(), msg.listener);
	cr_assert(seen.seen);
	aj_close(&listener); /* the supervisor is gone */
	aj_msg_send(ends[0], &(struct aj_msg){ .kind = AJ_MSG_TAKEN });
	waitpid(child, &status, 0);
	cr_expect_eq(status, 0, "%#x", status);
}

/* Where somebody listens already the refusals are plain errors, and the result will say that nobody counted. */
Test(violations, a_second_listener)
{
	pid_t child = fork();
	if (child == 0) {
		struct aj_error err = { 0 };
		int other = 0;
		plain = aj_filter_build(AJ_PROFILE_COMMAND, AJ_NET_NONE, AJ_DENY_PTRACE, plain_room);
		lock_in();
		REQUIRE(43, aj_filter_install_reported(&plain, &plain, &other, &err) == 0 && other == -1);
		REQUIRE(45, refused(SYS_ptrace) == EPERM);
		_exit(0);
	}
	cr_expect_eq(supervise(child), 0);
	cr_expect_eq(seen.total, 0, "the second filter's error beats the first one's report");
}

Test(violations, a_caller_that_dies_is_no_problem)
{
	pid_t child = fork();
	if (child == 0) {
		lock_in();
		alarm(1); /* ends it in the middle of a call */
		_exit(refused(SYS_ptrace));
	}
	struct aj_msg msg;
	int status;
	pid_t sender;
	cr_assert_eq(aj_msg_recv_from(ends[0], &msg, 0, &sender, NULL), 1);
	aj_violations_listen(&seen, &listener, sender, getpid(), msg.listener);
	aj_msg_send(ends[0], &(struct aj_msg){ .kind = AJ_MSG_TAKEN });
	waitpid(child, &status, 0);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM, "%#x", status);
	cr_expect_not(aj_violations_answer(&seen, &(struct aj_built){ .plan = &plan }, listener, NULL), "nobody is left");
	cr_expect_eq(seen.total, 0);
	aj_close(&listener);
}

/* A jail may send any number: of another kind of file, of none, of another process. */
Test(violations, not_a_listener)
{
	int null = open("/dev/null", O_RDONLY), lowest = dup(0), status;
	close(lowest);
	cr_expect(!aj_notify_listener(null) && !aj_notify_listener(ends[0]) && !aj_notify_listener(-1));
	pid_t child = fork();
	if (child == 0)
		_exit((int)pause());
	static const int numbers[] = { -1, 0, 2, 1000, INT32_MAX, INT32_MIN };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		aj_violations_listen(&seen, &listener, child, getpid(), numbers[i]);
	aj_violations_listen(&seen, &listener, child, getpid(), null);
	aj_violations_listen(&seen, &listener, 0, getpid(), null);
	cr_expect(listener == -1 && !seen.seen);
	int next = dup(0);
	cr_expect_eq(next, lowest, "and nothing stays open");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

/* A real one, but of a process that is not the jail's. */
Test(violations, not_of_a_child_of_that_parent)
{
	int status;
	struct aj_msg msg;
	pid_t sender, child = fork();
	if (child == 0) {
		lock_in();
		_exit(0);
	}
	cr_assert_eq(aj_msg_recv_from(ends[0], &msg, 0, &sender, NULL), 1);
	aj_violations_listen(&seen, &listener, sender, getppid(), msg.listener);
	cr_expect(listener == -1 && !seen.seen);
	aj_violations_listen(&seen, &listener, sender, getpid(), msg.listener);
	cr_expect(listener >= 0 && seen.seen, "control");
	aj_msg_send(ends[0], &(struct aj_msg){ .kind = AJ_MSG_TAKEN });
	waitpid(child, &status, 0);
	aj_close(&listener);
}

Test(violations, as_json)
{
	static const struct aj_syscall row = { .name = "ptrace", .errnum = EPERM, .why = "why", .instead = "do this" };
	struct aj_result r = { .reason = "finished" };
	struct aj_arena arena = { 0 };
	struct aj_policy policy;
	struct aj_request request = { .id = "x" };
	aj_policy_preset(&policy, &arena, "command");
	json_t *doc = aj_result_json(&r, &plan, &policy, &request);
	cr_expect_eq(json_array_size(json_object_get(doc, "violations")), 0);
	cr_expect(json_is_array(json_object_get(doc, "violations")) && json_is_false(json_object_get(doc, "violations_seen")));
	json_decref(doc);
	r.violations = (struct aj_violations){ .seen = true, .count = 1, .items = { { &row, 3, { 2, 5 }, 2, 0 } } };
	doc = aj_result_json(&r, &plan, &policy, &request);
	char *text = json_dumps(json_object_get(doc, "violations"), JSON_COMPACT);
	cr_expect_str_eq(text, "[{\"syscall\":\"ptrace\",\"count\":3,\"pids\":[2,5],\"why\":\"why\",\"instead\":\"do this\"}]");
	cr_expect(json_is_true(json_object_get(doc, "violations_seen")));
	free(text);
	json_decref(doc);
	aj_arena_free(&arena);
}
