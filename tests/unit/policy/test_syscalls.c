/* Tests of seccomp/syscalls: the tables themselves, as names, conditions and reasons.
 * Nothing is compiled here; what the kernel will do with a row is tested in test_seccomp.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/syscall.h>

#include "policy/seccomp/compile.h"
#include "policy/seccomp/syscalls.h"

enum { ROWS = 1024, NETWORKS = AJ_NET_HOST + 1 };

struct rows {
	struct aj_syscall row[ROWS];
	size_t count;
};

static int keep(const struct aj_syscall *row, void *data)
{
	struct rows *rows = data;
	cr_assert_lt(rows->count, ROWS);
	rows->row[rows->count++] = *row;
	return 0;
}

static struct rows *all(int profile, int network)
{
	static struct rows rows;
	rows.count = 0;
	aj_syscalls_each((enum aj_profile)profile, (enum aj_network)network, keep, &rows);
	return &rows;
}

static bool allows(const struct rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (!rows->row[i].errnum && strcmp(rows->row[i].name, name) == 0)
			return true;
	return false;
}

#define EACH_TABLE(p, n)                           \
	for (int p = 0; p < AJ_PROFILE_COUNT; p++) \
		for (int n = 0; n < NETWORKS; n++)

/* A text that fills its array leaves no room for the NUL, and the compiler says nothing. */
static int ends(const struct aj_syscall *row, void *data)
{
	*(size_t *)data += 1;
	cr_expect(memchr(row->name, '\0', sizeof row->name) && memchr(row->why, '\0', sizeof row->why) &&
	              memchr(row->instead, '\0', sizeof row->instead),
	          "%.20s", row->name);
	return 0;
}

Test(syscalls, the_texts_end)
{
	size_t rows = 0;
	EACH_TABLE(p, n)
		aj_syscalls_each((enum aj_profile)p, (enum aj_network)n, ends, &rows);
	for (int bit = 0; bit < AJ_FILTER_GROUPS; bit++)
		aj_syscalls_denied_each(1ULL << bit, ends, &rows);
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		aj_syscalls_zygote_each((enum aj_profile)p, ends, &rows);
	aj_syscalls_startup_each(ends, &rows);
	aj_syscalls_relay_each(ends, &rows);
	cr_expect_gt(rows, 500);
	for (int i = 0; i < AJ_SYSCALL_NUMBERS; i++)
		cr_expect(memchr(aj_syscall_names[i], '\0', sizeof aj_syscall_names[i]), "%d", i);
	cr_expect_str_eq(aj_syscall_names[SYS_set_mempolicy_home_node], "set_mempolicy_home_node");
}

Test(syscalls, the_snippet_stays_small)
{
	cr_expect_leq(aj_syscalls_allowed(AJ_PROFILE_SNIPPET, AJ_NET_NONE), 60);
	cr_expect_geq(aj_syscalls_allowed(AJ_PROFILE_SNIPPET, AJ_NET_NONE), 30, "a count that lost its table");
	cr_expect_lt(aj_syscalls_allowed(AJ_PROFILE_SNIPPET, AJ_NET_NONE), aj_syscalls_allowed(AJ_PROFILE_COMMAND, AJ_NET_NONE));
}

Test(syscalls, the_count_is_of_different_calls)
{
	EACH_TABLE(p, n) {
		struct rows *rows = all(p, n);
		int different = 0;
		for (size_t i = 0; i < rows->count; i++) {
			size_t first = 0;
			while (rows->row[first].errnum || strcmp(rows->row[first].name, rows->row[i].name) != 0)
				if (++first > i)
					break;
			different += first == i;
		}
		cr_expect_eq(aj_syscalls_allowed((enum aj_profile)p, (enum aj_network)n), different, "profile %d network %d: %d",
		             p, n, different);
	}
}

/* A reviewer who has read a call's rows must not find more of them a page further down. Calls that a network
 * or python.native adds, and calls that are refused, are tables of their own. */
static int count_row(const struct aj_syscall *row, void *data)
{
	(void)row;
	++*(size_t *)data;
	return 0;
}

Test(syscalls, rows_of_one_call_stand_together)
{
	for (int p = 0; p < AJ_PROFILE_COUNT; p++) {
		struct rows *rows = all(p, AJ_NET_NONE);
		size_t first = 0;
		if (p == AJ_PROFILE_NATIVE)
			aj_syscalls_native_each(count_row, &first);
		for (size_t i = first + 1; i < rows->count; i++)
			for (size_t j = first; j + 1 < i; j++) {
				const struct aj_syscall *row = &rows->row[i], *other = &rows->row[j];
				cr_expect(strcmp(row->name, other->name) != 0 || (row->errnum > 0) != (other->errnum > 0) ||
				              strcmp(row->name, rows->row[i - 1].name) == 0,
				          "profile %d: `%s` in rows %zu and %zu", p, row->name, j, i);
			}
	}
}

Test(syscalls, no_row_twice)
{
	EACH_TABLE(p, n) {
		struct rows *rows = all(p, n);
		for (size_t i = 0; i < rows->count; i++)
			for (size_t j = 0; j < i; j++)
				cr_expect(strcmp(rows->row[i].name, rows->row[j].name) != 0 ||
				              memcmp(rows->row[i].arg, rows->row[j].arg, sizeof rows->row[i].arg) != 0,
				          "profile %d network %d: `%s` twice", p, n, rows->row[i].name);
	}
}

/* A call that is allowed without conditions beside one with them would make the conditions void. One refusal without a condition answers
 * what the others do not name. */
Test(syscalls, conditions_are_not_undone)
{
	EACH_TABLE(p, n) {
		struct rows *rows = all(p, n);
		for (size_t i = 0; i < rows->count; i++)
			for (size_t j = 0; j < rows->count; j++) {
				const struct aj_syscall *a = &rows->row[i], *b = &rows->row[j];
				cr_expect(i == j || a->arg[0].mask || strcmp(a->name, b->name) != 0 || (a->errnum > 0 && b->arg[0].mask),
				          "profile %d network %d: `%s` with and without conditions", p, n, a->name);
			}
	}
}

/* No call can meet the conditions of both rows. */
static bool disjoint(const struct aj_syscall *a, const struct aj_syscall *b)
{
	for (int i = 0; i < AJ_SYSCALL_ARGS; i++)
		for (int j = 0; j < AJ_SYSCALL_ARGS; j++)
			if (a->arg[i].index == b->arg[j].index &&
			    ((a->arg[i].value ^ b->arg[j].value) & a->arg[i].mask & b->arg[j].mask))
				return true;
	return false;
}

Test(syscalls, nothing_is_both_allowed_and_refused)
{
	EACH_TABLE(p, n) {
		struct rows *rows = all(p, n);
		for (size_t i = 0; i < rows->count; i++)
			for (size_t j = 0; j < rows->count; j++) {
				const struct aj_syscall *a = &rows->row[i], *b = &rows->row[j];
				/* A null pointer as new limit reads, and neither pointer does nothing: either answer is right. */
				bool reads = strcmp(a->name, "prlimit64") == 0 && a->errnum <= 0 && b->errnum <= 0;
				bool otherwise = !a->arg[0].mask || !b->arg[0].mask;
				cr_expect(a->errnum == b->errnum || strcmp(a->name, b->name) != 0 || otherwise || reads ||
				              disjoint(a, b),
				          "profile %d network %d: `%s` in rows %zu and %zu", p, n, a->name, i, j);
			}
	}
}

/* The errnos that programs handle, besides EPERM. */
static const struct {
	const char *name;
	int errnum;
} other_errnos[] = {
	{ "setxattr", EOPNOTSUPP },
	{ "lsetxattr", EOPNOTSUPP },
	{ "fsetxattr", EOPNOTSUPP },
	{ "socket", EAFNOSUPPORT },
	{ "socket", ESOCKTNOSUPPORT },
	{ "socket", EPROTONOSUPPORT },
	{ "mmap", ENOMEM },
	{ "memfd_create", ENOMEM },
	{ "shmget", ENOMEM },
	{ "renameat2", EINVAL },
	{ "madvise", EINVAL },
	{ "fcntl", EINVAL },
	{ "ioctl", ENOTTY },
	{ "ioctl", EIO },
	{ "socketpair", EAFNOSUPPORT },
	{ "sendto", EISCONN },
	{ "memfd_create", EINVAL },
	{ "seccomp", EINVAL },
	{ "prctl", EINVAL },
	{ "sched_setscheduler", EINVAL },
	{ "removexattr", EOPNOTSUPP },
	{ "lremovexattr", EOPNOTSUPP },
	{ "fremovexattr", EOPNOTSUPP },
	{ "name_to_handle_at", EOPNOTSUPP },
};

Test(syscalls, reasons)
{
	EACH_TABLE(p, n) {
		struct rows *rows = all(p, n);
		for (size_t i = 0; i < rows->count; i++) {
			const struct aj_syscall *r = &rows->row[i];
			bool owed = p == AJ_PROFILE_SNIPPET || r->errnum || r->arg[0].mask;
			cr_expect(!owed || (r->why && strlen(r->why) > 2), "profile %d: `%s` has no reason", p, r->name);
			bool known = r->errnum == 0 || r->errnum == EPERM || r->errnum == AJ_ERRNO_NONE || r->errnum == ENOSYS;
			for (size_t k = 0; k < sizeof other_errnos / sizeof *other_errnos; k++)
				known = known || (r->errnum == other_errnos[k].errnum && strcmp(r->name, other_errnos[k].name) == 0);
			cr_expect(known, "`%s`: errno %d", r->name, r->errnum);
		}
	}
}

/* The filter compares 32 bits, so a value beyond its mask could never match. */
Test(syscalls, conditions_can_be_met)
{
	EACH_TABLE(p, n) {
		struct rows *rows = all(p, n);
		for (size_t i = 0; i < rows->count; i++)
			for (int a = 0; a < AJ_SYSCALL_ARGS; a++) {
				const struct aj_arg *arg = &rows->row[i].arg[a];
				cr_expect_eq(arg->value & ~arg->mask, 0, "`%s`", rows->row[i].name);
				cr_expect(arg->index >= 0 && arg->index < 6, "`%s`", rows->row[i].name);
			}
	}
}

/* A misspelt name would silently be no rule at all. */
Test(syscalls, every_name_is_a_system_call)
{
	EACH_TABLE(p, n) {
		struct rows *rows = all(p, n);
		for (size_t i = 0; i < rows->count; i++)
			cr_expect_neq(seccomp_syscall_resolve_name(rows->row[i].name), __NR_SCMP_ERROR, "`%s`", rows->row[i].name);
	}
}

/* clang-format off: lists of names, as many on a line as fit */
/* Whoever asks why a call does not work finds it in a table: every call of this architecture has a row. */
Test(syscalls, every_call_has_a_row)
{
	static struct rows absent;
	aj_syscalls_absent_each(keep, &absent);
	struct rows *rows = all(AJ_PROFILE_COMMAND, AJ_NET_HOST);
	for (int nr = 0; nr < AJ_SYSCALL_NUMBERS; nr++) {
		const char *name = aj_syscall_names[nr];
		size_t found = 0, left_out = 0;
		for (size_t i = 0; i < rows->count; i++)
			found += strcmp(rows->row[i].name, name) == 0;
		for (size_t i = 0; i < absent.count; i++)
			left_out += strcmp(absent.row[i].name, name) == 0;
		cr_expect(!*name || (found > 0) + left_out == 1, "`%s`: %zu rows, %zu where calls are left out", name, found, left_out);
	}
	for (size_t i = 0; i < absent.count; i++)
		cr_expect(absent.row[i].errnum == ENOSYS && strlen(absent.row[i].why) > 2, "`%s`", absent.row[i].name);
}

Test(syscalls, what_nobody_gets)
{
	static const char *const never[] = {
		"clone3",
		"vmsplice",
		"setns",
		"mount",
		"umount2",
		"pivot_root",
		"chroot",
		"open_tree",
		"move_mount",
		"fsopen",
		"fsmount",
		"fsconfig",
		"fspick",
		"mount_setattr",
		"kcmp",
		"pidfd_getfd",
		"bpf",
		"perf_event_open",
		"io_uring_setup",
		"io_uring_enter",
		"io_uring_register",
		"keyctl",
		"add_key",
		"request_key",
		"userfaultfd",
		"kexec_load",
		"kexec_file_load",
		"init_module",
		"finit_module",
		"delete_module",
		"reboot",
		"swapon",
		"iopl",
		"ioperm",
		"settimeofday",
		"clock_settime",
		"adjtimex",
		"syslog",
		"open_by_handle_at",
		"name_to_handle_at",
		"fanotify_init",
		"setxattr",
		"lsetxattr",
		"fsetxattr",
		"setgroups",
		"modify_ldt",
		"openat2",
		"quotactl",
		"sethostname",
		"setdomainname",
		"process_madvise",
		"move_pages",
		"migrate_pages",
		"remap_file_pages",
		"uselib",
		"acct",
		"vm86",
		"lookup_dcookie",
		"nfsservctl",
		"_sysctl",
		"set_mempolicy",
		"mbind",
		"io_setup",
		"io_submit",
		"vhangup",
	};
	EACH_TABLE(p, n) {
		struct rows *rows = all(p, n);
		for (size_t i = 0; i < sizeof never / sizeof *never; i++)
			cr_expect_not(allows(rows, never[i]), "profile %d network %d allows `%s`", p, n, never[i]);
	}
}

Test(syscalls, what_no_snippet_gets)
{
	static const char *const never[] = {
		"fork",
		"vfork",
		"execve",
		"execveat",
		"socket",
		"connect",
		"bind",
		"listen",
		"accept",
		"accept4",
		"sendmsg",
		"recvmsg",
		"sendmmsg",
		"capset",
		"unshare",
		"ptrace",
		"process_vm_writev",
		"prctl",
		"prlimit64",
		"setrlimit",
		"memfd_create",
		"seccomp",
		"personality",
		"setuid",
		"setgid",
		"chmod",
		"fchmod",
		"fchmodat",
		"chown",
		"symlink",
		"symlinkat",
		"link",
		"linkat",
		"mknod",
		"mknodat",
		"shmget",
		"shmat",
		"pipe",
		"pidfd_open",
		"wait4",
		"setsid",
		"setpgid",
		"pkey_mprotect",
		"dup2",
		"process_vm_readv",
		"open",
		"truncate",
		"creat",
		"inotify_init1",
		"timer_create",
		"sched_setaffinity",
		"sched_setscheduler",
		"setpriority",
		"arch_prctl",
	};
	for (int n = 0; n < NETWORKS; n++) {
		struct rows *rows = all(AJ_PROFILE_SNIPPET, n);
		for (size_t i = 0; i < sizeof never / sizeof *never; i++)
			cr_expect_not(allows(rows, never[i]), "network %d allows `%s`", n, never[i]);
	}
}
/* clang-format on */

static struct rows *denied(int number)
{
	static struct rows rows;
	rows.count = 0;
	aj_syscalls_denied_each(1ULL << number, keep, &rows);
	return &rows;
}

Test(syscalls, groups_that_can_be_denied)
{
	static const struct {
		uint64_t bit;
		const char *name, *call;
	} rows[] = { { AJ_DENY_THREADS, "threads", "clone" },    { AJ_DENY_SOCKETS, "sockets", "socketpair" },
		     { AJ_DENY_IPC, "ipc", "shmget" },           { AJ_DENY_INOTIFY, "inotify", "inotify_add_watch" },
		     { AJ_DENY_MEMFD, "memfd", "memfd_create" }, { AJ_DENY_SHARED_MEMORY, "shared-memory", "mmap" },
		     { AJ_DENY_LOCKS, "locks", "flock" },        { AJ_DENY_FORK, "fork", "vfork" } };
	cr_assert_eq(sizeof rows / sizeof *rows, AJ_DENY_GROUPS);
	for (int g = 0; g < AJ_DENY_GROUPS; g++) {
		struct rows *group = denied(g);
		bool has_call = false;
		cr_expect_eq(rows[g].bit, 1ULL << g);
		cr_expect_str_eq(aj_deny_name(1ULL << g), rows[g].name);
		for (size_t i = 0; i < group->count; i++) {
			const struct aj_syscall *r = &group->row[i];
			cr_expect_eq(r->errnum, EPERM, "`%s`", r->name);
			cr_expect(r->why && *r->why, "`%s` has no reason", r->name);
			cr_expect_neq(seccomp_syscall_resolve_name(r->name), __NR_SCMP_ERROR, "`%s`", r->name);
			cr_expect(allows(all(AJ_PROFILE_COMMAND, AJ_NET_HOST), r->name), "`%s` is in no list anyway", r->name);
			for (size_t j = 0; j < i; j++)
				cr_expect(strcmp(r->name, group->row[j].name) != 0 || r->arg[0].value != group->row[j].arg[0].value,
				          "`%s` twice", r->name);
			has_call |= strcmp(r->name, rows[g].call) == 0;
		}
		cr_expect(has_call, "%s without %s", rows[g].name, rows[g].call);
	}
}

Test(syscalls, each_stops_where_it_is_told)
{
	struct rows *rows = all(AJ_PROFILE_COMMAND, AJ_NET_NONE);
	size_t with_none = rows->count;
	cr_expect_gt(all(AJ_PROFILE_COMMAND, AJ_NET_LOOPBACK)->count, with_none);
	cr_expect_eq(all(AJ_PROFILE_SNIPPET, AJ_NET_HOST)->count, all(AJ_PROFILE_SNIPPET, AJ_NET_NONE)->count,
	             "a snippet has no network, whatever the policy says");
}
