/* Tests of the compiled filters, with a BPF interpreter of our own: what does the kernel answer to this call?
 * Only children of the last test install one: this process would lock itself in. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../bpf.h"
#include "policy/seccomp/compile.h"
#include "policy/seccomp/syscalls.h"

enum { NETWORKS = AJ_NET_HOST + 1, ALLOW = -1, KILL = -2, BROKEN = -3, X32 = 0x40000000 };

/* ALLOW, KILL, or the errno that the caller sees. */
static int answer(enum aj_profile profile, enum aj_network network, uint32_t arch, int nr, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = nr, .arch = arch };
	memcpy(data.args, args, sizeof data.args);
	uint32_t r = interpret(aj_filter_ready(profile, network), &data);
	switch (r & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		return ALLOW;
	case SECCOMP_RET_KILL_PROCESS:
		return KILL;
	case SECCOMP_RET_ERRNO:
		return (int)(r & SECCOMP_RET_DATA);
	default:
		return BROKEN;
	}
}

static int nr_of(const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);
	cr_assert_geq(nr, 0, "`%s`", name);
	return nr;
}

#define SNIPPET AJ_PROFILE_SNIPPET, AJ_NET_NONE
#define COMMAND AJ_PROFILE_COMMAND, AJ_NET_NONE
#define LOOPBACK AJ_PROFILE_COMMAND, AJ_NET_LOOPBACK
#define NATIVE seccomp_arch_native()
#define ARGS(...)           \
	(const uint64_t[6]) \
	{                   \
		__VA_ARGS__ \
	}
#define EXPECT(where, want, name, ...)                                                \
	do {                                                                          \
		int got_ = answer(where, NATIVE, nr_of(name), ARGS(__VA_ARGS__));     \
		cr_expect_eq(got_, want, "%s(%s): got %d", name, #__VA_ARGS__, got_); \
	} while (0)
/* clang-format on */
#define HIGH 0xdeadbeef00000000ULL

Test(seccomp, ready_filters_are_those_that_libseccomp_compiles)
{
	static struct sock_filter fresh[4096];
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++) {
			struct aj_error err = { 0 };
			const struct aj_filter *ready = aj_filter_ready((enum aj_profile)p, (enum aj_network)n);
			int count = aj_filter_compile((enum aj_profile)p, (enum aj_network)n, fresh, 4096, &err);
			cr_assert_eq(count, ready->count, "profile %d network %d: %d and %u instructions", p, n, count, ready->count);
			for (int i = 0; i < count; i++)
				cr_assert(memcmp(&fresh[i], &ready->insns[i], sizeof *fresh) == 0,
				          "profile %d network %d: instruction %d", p, n, i);
		}
	for (int s = 0; s < AJ_STAGES; s++) {
		struct aj_error err = { 0 };
		const struct aj_filter *ready = aj_filter_stage((enum aj_stage)s);
		int count = aj_filter_compile_stage((enum aj_stage)s, fresh, 4096, &err);
		cr_assert_eq(count, ready->count, "stage %d: %d and %u instructions", s, count, ready->count);
		cr_assert(memcmp(fresh, ready->insns, (size_t)count * sizeof *fresh) == 0, "stage %d", s);
	}
}

Test(seccomp, compile_refuses_too_little_room)
{
	struct sock_filter few[4];
	struct aj_error err = { 0 };
	cr_expect_eq(aj_filter_compile(COMMAND, few, 4, &err), -1);
	cr_expect_eq(err.exit_code, AJ_EXIT_SETUP);
	cr_expect_str_eq(err.step, "seccomp");
}

/* Every row of the table, asked of the compiled filter. */
static enum aj_profile row_profile;
static enum aj_network row_network;
static int ask_row(const struct aj_syscall *row, void *data)
{
	uint64_t args[6] = { 0 };
	int nr = seccomp_syscall_resolve_name(row->name);
	(void)data;
	if (nr < 0) /* of another architecture */
		return 0;
	for (int i = 0; i < AJ_SYSCALL_ARGS; i++)
		args[row->arg[i].index] |= row->arg[i].value;
	int got = answer(row_profile, row_network, NATIVE, nr, args);
	int want = row->errnum == AJ_ERRNO_NONE ? 0 : row->errnum ? row->errnum : ALLOW;
	/* What the call's other rows do not name cannot be asked for here; and prlimit64 reads without a new limit. */
	if ((!row->arg[0].mask && answer(row_profile, row_network, NATIVE, nr, args) != want) ||
	    (want == 0 && strcmp(row->name, "prlimit64") == 0))
		return 0;
	cr_expect_eq(got, want, "`%s`: %d", row->name, got);
	/* The kernel ignores the upper half of integers, so the filter must as well; a pointer's row looks at all of it. */
	uint64_t whole[6] = { 0 };
	for (int i = 0; i < AJ_SYSCALL_ARGS; i++)
		whole[row->arg[i].index] |= row->arg[i].mask;
	for (int i = 0; i < 6; i++)
		args[i] |= HIGH & ~whole[i];
	got = answer(row_profile, row_network, NATIVE, nr, args);
	cr_expect_eq(got, want, "`%s` with upper halves: %d", row->name, got);
	return 0;
}

Test(seccomp, every_row_has_its_answer)
{
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++) {
			row_profile = (enum aj_profile)p;
			row_network = (enum aj_network)n;
			aj_syscalls_each(row_profile, row_network, ask_row, NULL);
		}
}

/* Executable memory of a snippet: none; with python.native = "tree" private mappings of files alone, which are never writable too. */
Test(seccomp, executable_memory_of_a_snippet)
{
	static const uint64_t bits[] = { 0x10, 0x20, 0x40, 0x100, 0x800, 0x8000, 0x40000, 0x80000, 0x100000 };
	enum { BITS = sizeof bits / sizeof *bits };
	static const uint64_t protections[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 | 4, 0x01000004, 0x02000005, HIGH | 5 };
	int mmap = nr_of("mmap"), allowed = 0;
	for (size_t p = 0; p < sizeof protections / sizeof *protections; p++)
		for (uint64_t flags = 0; flags < 16ULL << BITS; flags++) {
			uint64_t prot = protections[p], set = flags & 0xf;
			for (int b = 0; b < BITS; b++)
				set |= flags >> 4 & 1ULL << b ? bits[b] : 0;
			bool code = prot & 4, file = (set & 0xf) == 2 && !(set & (0x20 | 0x100)) && !(prot & 2);
			int want = set & 0x40000 ? ENOMEM : code ? EPERM : ALLOW;
			const uint64_t args[6] = { 0, 4096, prot, set, 3 }, upper[6] = { 0, 4096, prot, HIGH | set, 3 };
			cr_assert_eq(answer(SNIPPET, NATIVE, mmap, args), want, "mmap %#lx %#lx", prot, set);
			int got = answer(AJ_PROFILE_NATIVE, AJ_NET_NONE, NATIVE, mmap, args);
			cr_assert_eq(got, want == EPERM && file ? ALLOW : want, "mmap %#lx %#lx: %d", prot, set, got);
			cr_assert_eq(got, answer(AJ_PROFILE_NATIVE, AJ_NET_NONE, NATIVE, mmap, upper), "mmap %#lx %#lx", prot, set);
			allowed += code && got == ALLOW;
		}
	cr_expect_gt(allowed, 0, "a list that lost its row");
#define REFUSED(name, ...)                                                                                \
	cr_expect_gt(answer(AJ_PROFILE_NATIVE, AJ_NET_NONE, NATIVE, nr_of(name), ARGS(__VA_ARGS__)), 0, "`%s`", name)
	REFUSED("mprotect", 0, 4096, 4);
	REFUSED("mprotect", 0, 4096, 7);
	REFUSED("mprotect", 0, 4096, HIGH | 5);
	REFUSED("pkey_mprotect", 0, 4096, 5, 1);
	REFUSED("pkey_mprotect", 0, 4096, 1, 1);
	REFUSED("remap_file_pages", 0, 4096);
	REFUSED("shmat", 1, 0, 0100000);
	REFUSED("shmget", 1, 4096);
	REFUSED("memfd_create", 0, 0);
	REFUSED("memfd_create", 0, 8);
	REFUSED("memfd_secret", 0);
	REFUSED("userfaultfd", 0);
	REFUSED("personality", 0x400000);
	REFUSED("process_vm_writev", 1);
	REFUSED("ptrace", 0);
	REFUSED("prctl", 0x53564d41);
	REFUSED("recvmsg", 3);
	REFUSED("pidfd_getfd", 3);
	REFUSED("io_uring_setup", 1);
	REFUSED("modify_ldt", 1);
	REFUSED("mount", 0);
	REFUSED("mount_setattr", 0);
#undef REFUSED
}

/* Otherwise the two lists of snippets are the same, but for what wheels with an older C library call. */
Test(seccomp, machine_code_is_all_that_the_lists_of_snippets_differ_in)
{
	static const char *const older[] = { "open", "stat", "lstat", "access", "eventfd2" };
	static const uint64_t values[] = { 0, 1, 2, 4, 5, 6, 7, 8, 16, 0x20, 0x22, 0x100, 0x1002, 0x5401, 0x40000, HIGH };
	enum { VALUES = sizeof values / sizeof *values };
	for (int nr = 0; nr < 512; nr++)
		for (int i = 0; i < VALUES * VALUES; i++) {
			uint64_t a = values[i % VALUES], b = values[i / VALUES], args[6] = { a, b, b, a, b };
			int one = answer(SNIPPET, NATIVE, nr, args), two = answer(AJ_PROFILE_NATIVE, AJ_NET_NONE, NATIVE, nr, args);
			bool wheels = false;
			for (size_t j = 0; j < sizeof older / sizeof *older; j++)
				wheels |= nr == nr_of(older[j]) && one == ENOSYS && two == ALLOW;
			cr_assert(one == two || wheels || (nr == nr_of("mmap") && one == EPERM && two == ALLOW), "nr %d: %d and %d",
			          nr, one, two);
		}
}

static int has_row(const struct aj_syscall *row, void *name)
{
	return strcmp(row->name, name) == 0;
}

/* Every number that no row names, known to libseccomp or not. */
Test(seccomp, the_rest_does_not_exist)
{
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++)
			for (int nr = 0; nr < 1024; nr++) {
				char *name = seccomp_syscall_resolve_num_arch(NATIVE, nr);
				if (!name || !aj_syscalls_each((enum aj_profile)p, (enum aj_network)n, has_row, name)) {
					int got = answer((enum aj_profile)p, (enum aj_network)n, NATIVE, nr, ARGS(0));
					cr_expect_eq(got, ENOSYS, "profile %d network %d: %s (%d): %d", p, n, name ? name : "?", nr, got);
				}
				free(name);
			}
	EXPECT(SNIPPET, ENOSYS, "clone3", 0);
	EXPECT(COMMAND, ENOSYS, "clone3", 0);
}

Test(seccomp, refused_on_purpose)
{
	static const char *const both[] = { "setns", "mount", "kcmp", "bpf", "keyctl", "io_uring_setup", "userfaultfd" };
	for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
		EXPECT(SNIPPET, EPERM, both[i], 0);
		EXPECT(COMMAND, EPERM, both[i], 0);
	}
	EXPECT(SNIPPET, EPERM, "execve", 0);
	EXPECT(COMMAND, ALLOW, "execve", 0);
	EXPECT(SNIPPET, EPERM, "fork", 0);
	EXPECT(COMMAND, ALLOW, "fork", 0);
}

#ifdef __x86_64__
Test(seccomp, other_architectures_end_the_process)
{
	static const uint32_t others[] = { AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, 0, 0xffffffff };
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++)
			for (size_t i = 0; i < sizeof others / sizeof *others; i++)
				for (int nr = 0; nr < 512; nr += nr < 8 ? 1 : 7)
					cr_expect_eq(answer((enum aj_profile)p, (enum aj_network)n, others[i], nr, ARGS(0)), KILL,
					             "arch %#x nr %d", others[i], nr);
}

/* x32 shares the architecture's number: bit 30 of the call tells them apart, and -1 has it set as well. */
Test(seccomp, x32_gets_nothing)
{
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++)
			for (int nr = 0; nr < 600; nr++) {
				int got = answer((enum aj_profile)p, (enum aj_network)n, AUDIT_ARCH_X86_64, X32 | nr, ARGS(0));
				cr_expect(got == KILL || got == ENOSYS, "x32 %d: %d", nr, got);
			}
	static const int odd[] = { -1, -2, (int)0x80000000, 0x7fffffff, 0x3fffffff };
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		cr_expect_neq(answer(SNIPPET, AUDIT_ARCH_X86_64, odd[i], ARGS(0)), ALLOW, "nr %#x", odd[i]);
}
#endif

Test(seccomp, clone_flags)
{
	enum { THREAD = 0x003d0f00, SIGCHLD_ = 17, VFORK = 0x4100 | 17 };
	static const uint64_t spaces[] = { 0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000 };
	EXPECT(SNIPPET, ALLOW, "clone", THREAD);
	EXPECT(SNIPPET, EPERM, "clone", SIGCHLD_);
	EXPECT(SNIPPET, EPERM, "clone", VFORK);
	EXPECT(SNIPPET, EPERM, "clone", 0x100 | SIGCHLD_); /* CLONE_VM alone is a process */
	EXPECT(SNIPPET, ENOSYS, "clone", 0x10000);         /* CLONE_THREAD alone */
	EXPECT(COMMAND, ALLOW, "clone", THREAD);
	EXPECT(COMMAND, ALLOW, "clone", SIGCHLD_);
	EXPECT(COMMAND, ALLOW, "clone", VFORK);
	EXPECT(COMMAND, ENOSYS, "clone", SIGCHLD_ | 0x80); /* CLONE_NEWTIME, which clone takes for a signal */
	EXPECT(SNIPPET, ENOSYS, "clone", THREAD | 0x80);
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		EXPECT(SNIPPET, EPERM, "clone", THREAD | spaces[i]);
		EXPECT(COMMAND, EPERM, "clone", SIGCHLD_ | spaces[i]);
		EXPECT(COMMAND, EPERM, "clone", THREAD | spaces[i]);
		EXPECT(COMMAND, EPERM, "clone", HIGH | SIGCHLD_ | spaces[i]);
	}
}

Test(seccomp, no_new_executable_memory_for_a_snippet)
{
	static const char *const calls[] = { "mmap", "mprotect" };
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		EXPECT(SNIPPET, ALLOW, calls[i], 0, 4096, PROT_NONE);
		EXPECT(SNIPPET, ALLOW, calls[i], 0, 4096, PROT_READ | PROT_WRITE);
		EXPECT(SNIPPET, ALLOW, calls[i], 0, 4096, PROT_READ | 0x01000000); /* PROT_GROWSDOWN is not our concern */
		EXPECT(SNIPPET, EPERM, calls[i], 0, 4096, PROT_EXEC);
		EXPECT(SNIPPET, EPERM, calls[i], 0, 4096, PROT_READ | PROT_EXEC);
		EXPECT(SNIPPET, EPERM, calls[i], 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
		EXPECT(SNIPPET, EPERM, calls[i], 0, 4096, HIGH | PROT_READ | PROT_EXEC);
		EXPECT(SNIPPET, EPERM, calls[i], 0, 4096, 0x7fffffff);
		EXPECT(COMMAND, ALLOW, calls[i], 0, 4096, PROT_READ | PROT_EXEC);
	}
	EXPECT(SNIPPET, ENOSYS, "pkey_mprotect", 0, 4096, PROT_READ | PROT_EXEC);
	EXPECT(SNIPPET, ENOSYS, "shmat", 0, 0, 0100000);
	EXPECT(SNIPPET, EPERM, "personality", 0x0400000); /* READ_IMPLIES_EXEC */
}

/* ioctl numbers are 32 bits: 1 << 32 | TIOCSTI is TIOCSTI to the kernel. */
Test(seccomp, ioctls)
{
	static const uint64_t never[] = { 0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */, 0x5423 /* TIOCSETD */, 0x4b4a /* KDSETMODE */ };
	for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
		int want = never[i] == 0x5412 ? EIO : ENOTTY;
		EXPECT(SNIPPET, ENOTTY, "ioctl", 0, never[i]);
		EXPECT(COMMAND, want, "ioctl", 0, never[i]);
		EXPECT(COMMAND, want, "ioctl", 0, HIGH | never[i]);
		EXPECT(COMMAND, want, "ioctl", 0, 1ULL << 32 | never[i]);
		EXPECT(COMMAND, want, "ioctl", 0, 0xffffffff00000000ULL | never[i]);
	}
	EXPECT(SNIPPET, ALLOW, "ioctl", 0, 0x5401);
	EXPECT(SNIPPET, ENOTTY, "ioctl", 0, 0x5402);
	EXPECT(COMMAND, ALLOW, "ioctl", 0, 0x5413);
	EXPECT(COMMAND, ALLOW, "ioctl", 0, HIGH | 0x5413);
	EXPECT(COMMAND, ENOTTY, "ioctl", 0x5413, 0);
	EXPECT(COMMAND, ENOTTY, "ioctl", 0, 0x8913);
	EXPECT(LOOPBACK, ALLOW, "ioctl", 0, 0x8913);
	EXPECT(LOOPBACK, ENOTTY, "ioctl", 0, 0x8914); /* SIOCSIFFLAGS */
}

Test(seccomp, socket_families)
{
	enum { NO = EAFNOSUPPORT };
	static const struct {
		uint64_t family, type, protocol;
		int none, with_network;
	} rows[] = {
		{ 1, 3, 0, ALLOW, ALLOW }, /* unix */
		{ 2, 1, 6, NO, ALLOW },    /* inet */
		{ 10, 2, 17, NO, ALLOW },  /* inet6 */
		{ 16, 3, 0, NO, ALLOW },   /* netlink route */
		{ 16, 3, 9, NO, NO },      /* netlink audit */
		{ 16, 3, 12, NO, NO },     /* netlink netfilter */
		{ 17, 3, 0, NO, NO },      /* packet */
		{ 38, 5, 0, NO, NO },      /* alg */
		{ 40, 1, 0, NO, NO },      /* vsock: reaches the hypervisor whatever the network namespace */
		{ 44, 3, 0, NO, NO },      /* xdp */
		{ 0, 1, 0, NO, NO },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		EXPECT(SNIPPET, EPERM, "socket", rows[i].family, 1, rows[i].protocol);
		EXPECT(COMMAND, rows[i].none, "socket", rows[i].family, 1, rows[i].protocol);
		EXPECT(COMMAND, rows[i].none, "socket", HIGH | rows[i].family, 1, rows[i].protocol);
		EXPECT(LOOPBACK, rows[i].with_network, "socket", rows[i].family, rows[i].type, rows[i].protocol);
		EXPECT(LOOPBACK, rows[i].with_network, "socket", HIGH | rows[i].family, HIGH | rows[i].type, HIGH | rows[i].protocol);
		EXPECT(SNIPPET, rows[i].family == 1 ? ALLOW : EAFNOSUPPORT, "socketpair", rows[i].family, 1, 0);
		EXPECT(LOOPBACK, rows[i].family == 1 ? ALLOW : EAFNOSUPPORT, "socketpair", rows[i].family, 1, 0);
	}
}

/* The families are refused by masks, so every one of them is asked for, and every single high bit. */
Test(seccomp, no_other_family)
{
	for (uint64_t family = 0; family < 70000; family++) {
		uint64_t args[6] = { family < 65536 ? family : 1ULL << (family & 31), 1 };
		bool inet = args[0] == 2 || args[0] == 10 || args[0] == 16;
		cr_expect_eq(answer(COMMAND, NATIVE, nr_of("socket"), args) == ALLOW, args[0] == 1, "family %lu", args[0]);
		cr_expect_eq(answer(LOOPBACK, NATIVE, nr_of("socket"), args) == ALLOW, args[0] == 1 || inet, "family %lu", args[0]);
	}
}

/* The protocols of TCP, UDP and ping, and no other of any type: the kernel would load a module for it. */
Test(seccomp, no_other_protocol)
{
	static const uint64_t families[] = { 2, 10 };
	for (size_t f = 0; f < 2; f++)
		for (uint64_t type = 0; type < 16; type++)
			for (uint64_t protocol = 0; protocol < 512; protocol++) {
				bool tcp = type == 1 && (protocol == 0 || protocol == 6);
				bool udp = type == 2 && (protocol == 0 || protocol == 17 || protocol == (f ? 58 : 1));
				int want = tcp || udp             ? ALLOW
				         : type == 3              ? EPERM
				         : type != 1 && type != 2 ? ESOCKTNOSUPPORT
				                                  : EPROTONOSUPPORT;
				/* SOCK_NONBLOCK and SOCK_CLOEXEC change nothing. */
				uint64_t flagged = HIGH | type | (protocol & 1 ? 02004000 : 0);
				int got = answer(LOOPBACK, NATIVE, nr_of("socket"), ARGS(families[f], flagged, HIGH | protocol));
				cr_expect_eq(got, want, "socket(%lu, %lu, %lu): %d", families[f], type, protocol, got);
				got = answer(LOOPBACK, NATIVE, nr_of("socket"), ARGS(families[f], flagged, 1UL << (9 + protocol % 23)));
				cr_expect_neq(got, ALLOW, "socket(%lu, %lu, high bit)", families[f], type);
			}
}

/* The host's huge pages are counted by no limit of a jail. */
Test(seccomp, no_huge_pages)
{
	enum { HUGETLB = 0x40000, HUGE_2MB = 21 << 26, PRIVATE = 0x22, EXECUTABLE = 7, NORESERVE = 0x4000 };
	static const uint64_t flags[] = { HUGETLB, HUGETLB | PRIVATE, HUGETLB | HUGE_2MB | PRIVATE, HUGETLB | NORESERVE | 1,
		                          HIGH | HUGETLB };
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		EXPECT(COMMAND, ENOMEM, "mmap", 0, 4096, 3, flags[i]);
		EXPECT(SNIPPET, ENOMEM, "mmap", 0, 4096, 3, flags[i]);
		EXPECT(COMMAND, ENOMEM, "mmap", 0, 4096, EXECUTABLE, flags[i]);
		EXPECT(SNIPPET, ENOMEM, "mmap", 0, 4096, EXECUTABLE, flags[i]);
	}
	EXPECT(COMMAND, ALLOW, "mmap", 0, 4096, 3, HUGE_2MB | PRIVATE);
	EXPECT(COMMAND, ENOMEM, "memfd_create", 0, 4);
	EXPECT(COMMAND, EINVAL, "memfd_create", 0, 0xffffffff);
	EXPECT(COMMAND, EINVAL, "memfd_create", 0, 0x20 | 4);
	EXPECT(COMMAND, ENOMEM, "memfd_create", 0, HIGH | 5 | HUGE_2MB);
	EXPECT(COMMAND, ALLOW, "memfd_create", 0, 3);
	EXPECT(COMMAND, ENOMEM, "shmget", 0, 4096, 04600);
	EXPECT(COMMAND, ALLOW, "shmget", 0, 4096, 01600);
}

Test(seccomp, no_whiteout)
{
	EXPECT(COMMAND, EINVAL, "renameat2", 3, 0, 3, 0, 4);
	EXPECT(COMMAND, EINVAL, "renameat2", 3, 0, 3, 0, HIGH | 5);
	EXPECT(COMMAND, ALLOW, "renameat2", 3, 0, 3, 0, 3);
	EXPECT(SNIPPET, ENOSYS, "renameat2", 3, 0, 3, 0, 4);
}

Test(seccomp, set_id_bits)
{
	enum { CREAT = 0100, TMPFILE = 020200000 };
	static const struct {
		const char *call;
		int index, flags_index;
		uint64_t flags;
	} rows[] = {
		{ "open", 2, 1, CREAT | 1 },
		{ "open", 2, 1, TMPFILE | 2 },
		{ "openat", 3, 2, CREAT | 1 },
		{ "openat", 3, 2, TMPFILE | 2 },
		{ "openat", 3, 2, HIGH | CREAT },
		{ "creat", 1, 2, 0 },
		{ "chmod", 1, 2, 0 },
		{ "fchmod", 1, 2, 0 },
		{ "fchmodat", 2, 3, 0 },
	};
	static const uint64_t modes[] = { 04755, 02755, 06000, 07777 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t args[6] = { 0 };
		args[rows[i].flags_index] = rows[i].flags;
		args[rows[i].index] = 01777;
		cr_expect_eq(answer(COMMAND, NATIVE, nr_of(rows[i].call), args), ALLOW, "%s", rows[i].call);
		for (size_t j = 0; j < sizeof modes / sizeof *modes; j++) {
			args[rows[i].index] = modes[j];
			cr_expect_eq(answer(COMMAND, NATIVE, nr_of(rows[i].call), args), EPERM, "%s %lo", rows[i].call, modes[j]);
			args[rows[i].index] |= HIGH;
			cr_expect_eq(answer(COMMAND, NATIVE, nr_of(rows[i].call), args), EPERM, "%s %lo", rows[i].call, modes[j]);
		}
	}
	/* The kernel ignores the mode where no file is made, and callers leave any value there. */
	EXPECT(COMMAND, ALLOW, "open", 3, 02, 07777);
	EXPECT(COMMAND, ALLOW, "openat", 3, 4, 02200000, 04755);
	EXPECT(COMMAND, ALLOW, "openat", 3, 4, 0200000, 04755); /* O_DIRECTORY, which O_TMPFILE includes */
}

Test(seccomp, no_device_nodes)
{
	static const uint64_t made[] = { 0010644, 0100644, 0140644, 0644, 0, 0011644 };
	static const uint64_t refused[] = { 0020644, 0020000, 0060644, 0014644, 0104755, 0102755, 0040755, 04755 };
	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		EXPECT(COMMAND, ALLOW, "mknod", 0, made[i]);
		EXPECT(COMMAND, ALLOW, "mknodat", 0, 0, HIGH | made[i]);
	}
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		EXPECT(COMMAND, EPERM, "mknod", 0, refused[i]);
		EXPECT(COMMAND, EPERM, "mknodat", 0, 0, refused[i]);
	}
}

/* Leases and notifications act on other users of a file. */
Test(seccomp, fcntl_commands)
{
	static const uint64_t both[] = { 0, 1, 2, 3, 4, 5, 6, 7, 1030 }, never[] = { 10, 12, 1024, 1025, 1026, 1036, 1038 };
	for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
		EXPECT(SNIPPET, ALLOW, "fcntl", 0, both[i]);
		EXPECT(COMMAND, ALLOW, "fcntl", 0, HIGH | both[i]);
	}
	for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
		EXPECT(SNIPPET, EINVAL, "fcntl", 0, never[i]);
		EXPECT(COMMAND, EINVAL, "fcntl", 0, never[i]);
		EXPECT(COMMAND, EINVAL, "fcntl", 0, HIGH | never[i]);
	}
}

/* libzmq sets the scheduler of each of its threads, and ends the program where that is an error. */
Test(seccomp, schedulers)
{
	for (unsigned scheduler = 0; scheduler < 8; scheduler++) {
		int want = scheduler == SCHED_OTHER || scheduler == SCHED_BATCH || scheduler == SCHED_IDLE ? ALLOW
		         : scheduler == SCHED_FIFO || scheduler == SCHED_RR || scheduler == SCHED_DEADLINE ? EPERM
		                                                                                           : EINVAL;
		EXPECT(COMMAND, want, "sched_setscheduler", 0, scheduler, 0x1000);
		EXPECT(COMMAND, want, "sched_setscheduler", 0, SCHED_RESET_ON_FORK | scheduler, 0x1000);
		EXPECT(SNIPPET, want == EPERM ? want : ENOSYS, "sched_setscheduler", 0, scheduler, 0x1000);
	}
}

/* Any limit may be read and lowered, but RLIMIT_CORE stays 1: at 0 the kernel would start the host's core handler. A program that sets it
 * to 0 has no core file, as it wants. */
Test(seccomp, core_limit_stays)
{
	enum { CORE = 4, SOMEWHERE = 0x1000 };
	for (uint64_t limit = 0; limit < 16; limit++) {
		int want = limit == CORE ? 0 : ALLOW;
		EXPECT(COMMAND, want, "prlimit64", 0, limit, SOMEWHERE, 0);
		EXPECT(COMMAND, want, "prlimit64", 0, HIGH | limit, SOMEWHERE, 0);
		EXPECT(COMMAND, want, "prlimit64", 0, limit, HIGH, 0); /* a pointer whose lower half is 0 is no null pointer */
		EXPECT(COMMAND, limit == CORE ? EPERM : ALLOW, "prlimit64", 0, limit, SOMEWHERE, SOMEWHERE);
		EXPECT(COMMAND, EPERM, "prlimit64", 1, limit, SOMEWHERE, 0);
		EXPECT(COMMAND, ALLOW, "prlimit64", 0, limit, 0, SOMEWHERE);
		EXPECT(SNIPPET, EPERM, "prlimit64", 0, limit, 0, SOMEWHERE);
		EXPECT(COMMAND, want, "setrlimit", HIGH | limit, SOMEWHERE);
	}
}

Test(seccomp, prctl_and_personality)
{
	enum { SET_DUMPABLE = 4, SET_SPECULATION_CTRL = 53 };
	static const uint64_t allowed[] = { 7, 8, 15, 24, 28, 41, 47, 65, 0x59616d61 }, unknown[] = { 10, 35, 59, 62, 67, 9999 };
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		EXPECT(COMMAND, ALLOW, "prctl", HIGH | allowed[i]);
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		EXPECT(COMMAND, EINVAL, "prctl", HIGH | unknown[i]);
	for (uint64_t value = 0; value < 4; value++)
		EXPECT(COMMAND, value < 2 ? ALLOW : EINVAL, "prctl", SET_DUMPABLE, value);
	for (uint64_t value = 0; value < 32; value++)
		EXPECT(COMMAND,
		       value == 4 || value == 8 || value == 16 ? ALLOW
		       : value == 2                            ? EPERM
		                                               : EINVAL,
		       "prctl", SET_SPECULATION_CTRL, 0, value);
	static const uint64_t personas[] = { 0, 8, 0x20000, 0x40000, 0x60008, 0xffffffff },
			      never[] = { 0x400000, 0x100000, 0x440000, 1, 9 };
	for (size_t i = 0; i < sizeof personas / sizeof *personas; i++)
		EXPECT(COMMAND, ALLOW, "personality", HIGH | personas[i]);
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		EXPECT(COMMAND, EPERM, "personality", never[i]);
}

/* What gives up rights, and what changes nothing. */
Test(seccomp, giving_up)
{
	EXPECT(COMMAND, ALLOW, "capset", 0x1000, 0x2000);
	EXPECT(SNIPPET, EPERM, "capset", 0x1000, 0x2000);
	EXPECT(COMMAND, ALLOW, "unshare", 0);
	EXPECT(COMMAND, ALLOW, "unshare", HIGH | 0x40200); /* CLONE_FS | CLONE_SYSVSEM */
	EXPECT(COMMAND, EPERM, "unshare", 0x400);          /* CLONE_FILES */
	EXPECT(COMMAND, EPERM, "unshare", 0x10000000);
	EXPECT(SNIPPET, EPERM, "unshare", 0);
	EXPECT(COMMAND, 0, "iopl", HIGH);
	EXPECT(COMMAND, EPERM, "iopl", 3);
	EXPECT(COMMAND, 0, "ioperm", 0, 3, 0);
	EXPECT(COMMAND, EPERM, "ioperm", 0, 3, 1);
	for (uint64_t level = 0; level < 8; level++) {
		EXPECT(COMMAND, level < 4 ? EPERM : ALLOW, "ioprio_set", 1, 0, 2 << 13 | level);
		EXPECT(COMMAND, ALLOW, "ioprio_set", 1, 0, HIGH | 3 << 13 | level);
		EXPECT(COMMAND, EPERM, "ioprio_set", 1, 0, 1 << 13 | level);
		EXPECT(COMMAND, level ? EPERM : ALLOW, "ioprio_set", 1, 0, level);
	}
}

/* The kernel's decision under several filters: the strictest answer, and of equal ones that of the filter installed last,
 * which is the profile's. The one filter that is made of them must say the same. */
static int stacked(uint64_t deny, enum aj_profile profile, enum aj_network network, uint32_t arch, int nr, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = nr, .arch = arch };
	uint32_t result = SECCOMP_RET_ALLOW;
	memcpy(data.args, args, sizeof data.args);
	for (int i = -1; i < AJ_FILTER_GROUPS; i++) {
		if (i >= 0 && !(deny & 1ULL << i))
			continue;
		uint32_t r = interpret(i < 0 ? aj_filter_ready(profile, network) : aj_filter_denied(1ULL << i), &data);
		if ((int32_t)(r & SECCOMP_RET_ACTION_FULL) < (int32_t)(result & SECCOMP_RET_ACTION_FULL))
			result = r;
	}
	static struct sock_filter room[AJ_FILTER_ROOM];
	static struct aj_filter joined;
	static uint64_t made_of = ~0ULL;
	uint64_t now = deny | (uint64_t)profile << 32 | (uint64_t)network << 40;
	if (now != made_of)
		joined = aj_filter_build(profile, network, deny, room);
	made_of = now;
	cr_assert_gt(joined.count, 0);
	cr_assert_eq(interpret(&joined, &data), result, "joined into one they answer the same: %d %#x", nr, result);
	switch (result & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		return ALLOW;
	case SECCOMP_RET_KILL_PROCESS:
		return KILL;
	case SECCOMP_RET_ERRNO:
		return (int)(result & SECCOMP_RET_DATA);
	default:
		return BROKEN;
	}
}

Test(seccomp, groups_are_what_libseccomp_compiles)
{
	static struct sock_filter fresh[4096];
	for (int g = 0; g < AJ_FILTER_GROUPS; g++) {
		struct aj_error err = { 0 };
		const struct aj_filter *ready = aj_filter_denied(1ULL << g);
		cr_assert_eq(aj_filter_compile_denied(1ULL << g, fresh, 4096, &err), ready->count, "%s", aj_deny_name(1ULL << g));
		cr_expect(memcmp(fresh, ready->insns, ready->count * sizeof *fresh) == 0, "%s", aj_deny_name(1ULL << g));
	}
}

Test(seccomp, one_filter_of_all)
{
	static struct sock_filter room[AJ_FILTER_ROOM];
	struct aj_filter one = aj_filter_build(SNIPPET, 0, room);
	const struct aj_filter *ready = aj_filter_ready(SNIPPET);
	cr_assert_eq(one.count, ready->count);
	cr_expect(one.insns == ready->insns, "nothing denied costs nothing");
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++)
			cr_expect_gt(aj_filter_build((enum aj_profile)p, (enum aj_network)n, (1 << AJ_DENY_GROUPS) - 1, room).count, 0);
}

Test(seccomp, groups_leave_the_rest_alone)
{
	for (int g = 0; g < AJ_DENY_GROUPS; g++)
		for (int nr = 0; nr < 1024; nr++) {
			char *name = seccomp_syscall_resolve_num_arch(NATIVE, nr);
			if (!name || !aj_syscalls_denied_each(1ULL << g, has_row, name)) {
				struct seccomp_data data = { .nr = nr, .arch = NATIVE };
				cr_expect_eq(interpret(aj_filter_denied(1ULL << g), &data), SECCOMP_RET_ALLOW, "%s: %s",
				             aj_deny_name(1ULL << g), name ? name : "?");
			}
			free(name);
		}
}

Test(seccomp, a_group_only_takes_away)
{
	static const uint64_t values[] = { 0, 1, 2, 17, 0x10000, 0x3d0f00, 0x4111, 0xffffffff, HIGH | 17, HIGH | 0x3d0f00 };
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int g = 0; g < AJ_DENY_GROUPS; g++)
			for (int nr = 0; nr < 512; nr++)
				for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
					const uint64_t args[6] = { values[v], values[v], values[v],
						                   values[v], values[v], values[v] };
					int alone = answer((enum aj_profile)p, AJ_NET_HOST, NATIVE, nr, args);
					int both = stacked(1ULL << g, (enum aj_profile)p, AJ_NET_HOST, NATIVE, nr, args);
					cr_expect(both == alone || (both == EPERM && alone == ALLOW), "%s: %d: %d and %d",
					          aj_deny_name(1ULL << g), nr, alone, both);
				}
}

#define DENIED(deny, where, want, name, ...)                                             \
	do {                                                                             \
		int got_ = stacked(deny, where, NATIVE, nr_of(name), ARGS(__VA_ARGS__)); \
		cr_expect_eq(got_, want, "%s(%s): got %d", name, #__VA_ARGS__, got_);    \
	} while (0)

Test(seccomp, denied_groups)
{
	enum { THREAD = 0x003d0f00, FORK = 0x01200011, VFORK = 0x4100 | 17 };
	DENIED(AJ_DENY_THREADS, COMMAND, EPERM, "clone", THREAD);
	DENIED(AJ_DENY_THREADS, COMMAND, EPERM, "clone", HIGH | THREAD);
	DENIED(AJ_DENY_THREADS, COMMAND, ALLOW, "clone", FORK);
	DENIED(AJ_DENY_THREADS, COMMAND, ENOSYS, "clone3", 0);
	DENIED(AJ_DENY_THREADS, SNIPPET, EPERM, "clone", THREAD);
	DENIED(AJ_DENY_LOCKS, COMMAND, EPERM, "flock", 3, 2);
	for (uint64_t cmd = 0; cmd < 64; cmd++)
		DENIED(AJ_DENY_LOCKS, COMMAND,
		       cmd == 6 || cmd == 7 || cmd == 37 || cmd == 38   ? EPERM
		       : cmd <= 5 || cmd == 36                          ? ALLOW
		       : cmd == 8 || cmd == 9 || cmd == 15 || cmd == 16 ? ALLOW
		                                                        : EINVAL,
		       "fcntl", 3, cmd);
	DENIED(AJ_DENY_LOCKS, SNIPPET, EPERM, "fcntl", 3, HIGH | 6);
	DENIED(AJ_DENY_FORK, COMMAND, ALLOW, "clone", THREAD);
	DENIED(AJ_DENY_FORK, COMMAND, EPERM, "clone", FORK);
	DENIED(AJ_DENY_FORK, COMMAND, EPERM, "clone", VFORK); /* posix_spawn */
	DENIED(AJ_DENY_FORK, COMMAND, EPERM, "clone", 0x100 | 17);
	DENIED(AJ_DENY_FORK, COMMAND, EPERM, "fork", 0);
	DENIED(AJ_DENY_FORK, COMMAND, EPERM, "vfork", 0);
	DENIED(AJ_DENY_FORK, COMMAND, ENOSYS, "clone3", 0);
	DENIED(AJ_DENY_FORK, COMMAND, ALLOW, "execve", 0);
	DENIED(AJ_DENY_FORK | AJ_DENY_THREADS, COMMAND, EPERM, "clone", THREAD);
	DENIED(AJ_DENY_FORK | AJ_DENY_THREADS, COMMAND, EPERM, "clone", FORK);
	DENIED(AJ_DENY_SOCKETS, LOOPBACK, EPERM, "socket", 2, 1, 0);
	DENIED(AJ_DENY_SOCKETS, COMMAND, EPERM, "socket", 1, 1, 0);
	DENIED(AJ_DENY_SOCKETS, COMMAND, EAFNOSUPPORT, "socket", 2, 1, 0); /* the list's own error is the last word */
	DENIED(AJ_DENY_SOCKETS, SNIPPET, EPERM, "socketpair", 1);
	DENIED(AJ_DENY_SOCKETS, COMMAND, ALLOW, "getpeername", 0);
	DENIED(AJ_DENY_SOCKETS, COMMAND, ALLOW, "read", 0);
	DENIED(AJ_DENY_IPC, COMMAND, EPERM, "shmget", 0);
	DENIED(AJ_DENY_IPC, COMMAND, EPERM, "mq_open", 0);
	DENIED(AJ_DENY_INOTIFY, COMMAND, EPERM, "inotify_init1", 0);
	DENIED(AJ_DENY_INOTIFY, SNIPPET, ENOSYS, "inotify_init1", 0);
	DENIED(AJ_DENY_MEMFD, COMMAND, EPERM, "memfd_create", 0);
	DENIED(0, COMMAND, ALLOW, "memfd_create", 0);
	DENIED(AJ_DENY_SHARED_MEMORY, COMMAND, EPERM, "mmap", 0, 4096, 3, 0x21);
	DENIED(AJ_DENY_SHARED_MEMORY, COMMAND, EPERM, "mmap", 0, 4096, 3, 0x23);
	DENIED(AJ_DENY_SHARED_MEMORY, COMMAND, ALLOW, "mmap", 0, 4096, 3, 0x22);
	DENIED(AJ_DENY_SHARED_MEMORY, COMMAND, ALLOW, "mmap", 0, 4096, 3, 0x01);
	DENIED(AJ_DENY_SHARED_MEMORY, COMMAND, EPERM, "mmap", 0, 4096, 3, 0x122);
	DENIED(0, COMMAND, ALLOW, "mmap", 0, 4096, 3, 0x21);
	DENIED(0, COMMAND, EPERM, "mmap", 0, 4096, 3, 0x122);
	DENIED(0, COMMAND, ALLOW, "fcntl", 0, 1031, 4096);
	DENIED(0, COMMAND, ALLOW, "fcntl", 0, 1031, 0x10000);
	DENIED(0, COMMAND, EINVAL, "fcntl", 0, 1031, 0x10001);
	DENIED(0, COMMAND, EINVAL, "fcntl", 0, 1031, 0x100000);
}

/* A policy may allow a command's processes to trace one another: by these requests, and never with the filter suspended. */
Test(seccomp, tracing)
{
	enum { SETOPTIONS = 0x4200, SEIZE = 0x4206, SUSPEND = 1 << 21, SECCOMP_GET_FILTER = 0x420c };
	static const uint64_t requests[] = { 0, 5, 7, 13, 16, 24, 0x4205, 0x420e },
			      never[] = { 20, 31, SECCOMP_GET_FILTER, 0x420d, 0x4210 };
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		DENIED(0, COMMAND, ALLOW, "ptrace", HIGH | requests[i]);
		DENIED(AJ_DENY_PTRACE, COMMAND, EPERM, "ptrace", requests[i]);
		DENIED(0, SNIPPET, EPERM, "ptrace", requests[i]);
	}
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		DENIED(0, COMMAND, EPERM, "ptrace", HIGH | never[i]);
	for (uint64_t bit = 0; bit < 32; bit++) {
		int want = 1U << bit == SUSPEND ? EPERM : ALLOW;
		DENIED(0, COMMAND, want, "ptrace", SETOPTIONS, 1, 0, HIGH | 1U << bit);
		DENIED(0, COMMAND, want, "ptrace", SEIZE, 1, 0, 0x1f | 1U << bit);
	}
	DENIED(0, COMMAND, ALLOW, "process_vm_readv", 1);
	DENIED(AJ_DENY_PTRACE, COMMAND, EPERM, "process_vm_readv", 1);
	DENIED(AJ_DENY_PTRACE, COMMAND, EPERM, "process_vm_writev", 1);
	DENIED(AJ_BRANCH_STEPS, COMMAND, EPERM, "capset", 0);
}

/* A child with every group denied. */
Test(seccomp, the_kernel_takes_the_joined_one)
{
	pid_t child = fork();
	if (child == 0) {
		static struct sock_filter room[AJ_FILTER_ROOM];
		struct aj_filter all = aj_filter_build(COMMAND, (1 << AJ_DENY_GROUPS) - 1, room);
		struct aj_error err = { 0 };
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			_exit(40);
		if (aj_filter_install(&all, &err) < 0)
			_exit(41);
		if (syscall(SYS_memfd_create, "x", 0) != -1 || errno != EPERM)
			_exit(42);
		if (syscall(SYS_clone, 17, 0, 0, 0, 0) != -1 || errno != EPERM)
			_exit(43);
		if (syscall(SYS_clone3, NULL, 0) != -1 || errno != ENOSYS)
			_exit(44);
		if (syscall(SYS_socketpair, 1, 1, 0, NULL) != -1 || errno != EPERM)
			_exit(45);
		_exit(syscall(SYS_getpid) > 0 ? 0 : 46);
	}
	int status = -1;
	waitpid(child, &status, 0);
	cr_expect_eq(status, 0, "status %#x", status);
}

/* The kernel's decision under two filters, the later one first. */
static uint32_t strictest(const struct aj_filter *later, const struct aj_filter *earlier, const struct seccomp_data *data)
{
	uint32_t a = interpret(later, data), b = interpret(earlier, data);
	return (int32_t)(b & SECCOMP_RET_ACTION_FULL) < (int32_t)(a & SECCOMP_RET_ACTION_FULL) ? b : a;
}

static int is_startup(const struct aj_syscall *row, void *name)
{
	return strcmp(row->name, name) == 0;
}

/* A snippet under its two filters is refused exactly what its one list refuses: with the same errors where nobody listens; where somebody
 * does, the baseline reports what the list would, but for what Python's start may do, which is refused unreported. */
static void compare_stages(enum aj_profile profile, uint64_t deny, const struct seccomp_data *data)
{
	static struct sock_filter whole_room[AJ_FILTER_ROOM], below_room[AJ_FILTER_ROOM], above_room[AJ_FILTER_ROOM],
	    reported_room[AJ_FILTER_ROOM];
	static struct aj_filter whole, below, above, reported;
	static uint64_t made_of = ~0ULL;
	if (made_of != (deny | (uint64_t)profile << 32)) {
		made_of = deny | (uint64_t)profile << 32;
		whole = aj_filter_build(profile, AJ_NET_NONE, deny, whole_room);
		below = aj_filter_baseline(profile, AJ_NET_NONE, deny, below_room);
		above = aj_filter_above(profile, deny, above_room);
		memcpy(reported_room, below.insns, below.count * sizeof *below.insns);
		aj_filter_report(reported_room, below.count);
		reported = (struct aj_filter){ reported_room, below.count };
	}
	cr_assert(whole.count && below.count && above.count);
	uint32_t want = interpret(&whole, data), plain = strictest(&above, &below, data), heard = strictest(&above, &reported, data);
	cr_assert_eq(plain, want, "nr %d, %#lx %#lx %#lx: %#x in place of %#x", data->nr, data->args[0], data->args[1],
	             data->args[2], plain, want);
	uint32_t errnum = want & SECCOMP_RET_DATA;
	bool error = (want & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO && errnum != ENOSYS && errnum;
	char *name = seccomp_syscall_resolve_num_arch(NATIVE, data->nr);
	bool thread = name && strcmp(name, "clone") == 0 && deny & AJ_DENY_THREADS;
	bool code = profile == AJ_PROFILE_SNIPPET && name && strcmp(name, "mmap") == 0; /* which the start may map */
	bool starts = thread || code || (aj_profile_is_pure(profile) && name && aj_syscalls_startup_each(is_startup, name));
	cr_assert(heard == want || (error && heard == SECCOMP_RET_USER_NOTIF), "nr %d: %#x heard, %#x wanted", data->nr, heard, want);
	/* The answers of a kernel that does not know an option may be quiet. */
	bool quiet = errnum == EINVAL || errnum == ENOTTY;
	cr_assert(!error || starts || quiet || heard == SECCOMP_RET_USER_NOTIF, "`%s` is refused, and nobody hears of it",
	          name ? name : "?");
	free(name);
}

Test(seccomp, two_stages_are_one_list)
{
	static const uint64_t values[] = { 0,      1,      2,       4,       6,        8,          10,     16,         17,
		                           0x1002, 0x5401, 0x10000, 0x10100, 0x3d0f00, 0x01200011, 0x4111, 0x50000100, HIGH };
	enum { VALUES = sizeof values / sizeof *values };
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (uint64_t deny = 0; deny < 1 << AJ_FILTER_GROUPS; deny = deny ? deny << 1 : 1)
			for (int nr = 0; nr < 512; nr++)
				for (int i = 0; i < VALUES * VALUES; i++) {
					struct seccomp_data data = { .nr = nr, .arch = NATIVE };
					data.args[0] = data.args[3] = values[i % VALUES];
					data.args[1] = data.args[2] = data.args[4] = values[i / VALUES];
					compare_stages((enum aj_profile)p, deny, &data);
				}
}

/* Before Python starts: nothing that a jail never gets, whatever the tree's program is. */
Test(seccomp, the_baseline)
{
	static const char *const never[] = { "fork",        "vfork",   "socket",          "connect",  "bind",   "io_uring_setup",
		                             "userfaultfd", "keyctl",  "add_key",         "ptrace",   "mount",  "bpf",
		                             "setns",       "unshare", "perf_event_open", "prctl",    "setuid", "memfd_create",
		                             "shmget",      "mknod",   "chmod",           "execveat", "clone3", "personality",
		                             "sendmsg",     "recvmsg" };
	for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
		struct seccomp_data data = { .nr = nr_of(never[i]), .arch = NATIVE };
		uint32_t r = interpret(aj_filter_stage(AJ_STAGE_BASELINE), &data);
		cr_expect_eq(r & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO, "`%s`: %#x", never[i], r);
	}
	/* Nor memory that a package could leave executable and writable for the snippet, or for each jail of a zygote. */
	static const struct {
		const char *name;
		uint64_t prot, flags;
		bool allowed;
	} memory[] = {
		{ "mmap", 5, 2, true },     { "mmap", 5, 0x812, true },  { "mmap", 3, 0x22, true },  { "mmap", 7, 2, false },
		{ "mmap", 7, 0x22, false }, { "mmap", 5, 0x22, false },  { "mmap", 4, 0x22, false }, { "mmap", 5, 1, false },
		{ "mprotect", 1, 0, true }, { "mprotect", 3, 0, true }, { "mprotect", 5, 0, false }, { "mprotect", 7, 0, false },
	};
	for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
		struct seccomp_data call = { .nr = nr_of(memory[i].name), .arch = NATIVE, .args = { 0, 4096, memory[i].prot, memory[i].flags } };
		bool starts = interpret(aj_filter_stage(AJ_STAGE_BASELINE), &call) == SECCOMP_RET_ALLOW;
		cr_expect_eq(starts, memory[i].allowed, "%s %#lx %#lx", memory[i].name, memory[i].prot, memory[i].flags);
		for (int p = AJ_PROFILE_SNIPPET; p <= AJ_PROFILE_NATIVE; p++)
			cr_expect_eq(interpret(aj_filter_zygote((enum aj_profile)p), &call) == SECCOMP_RET_ALLOW, memory[i].allowed,
			             "zygote %d: %s %#lx %#lx", p, memory[i].name, memory[i].prot, memory[i].flags);
	}
	struct seccomp_data data = { .nr = nr_of("seccomp"), .arch = NATIVE, .args = { 1, 1 } };
	cr_expect_eq(interpret(aj_filter_stage(AJ_STAGE_BASELINE), &data), SECCOMP_RET_ALLOW, "the filter above it");
	data.args[1] |= 8;
	cr_expect_neq(interpret(aj_filter_stage(AJ_STAGE_BASELINE), &data), SECCOMP_RET_ALLOW, "one with a listener of its own");
	data = (struct seccomp_data){ .nr = nr_of("clone"), .arch = NATIVE, .args = { 17 } };
	cr_expect_neq(interpret(aj_filter_stage(AJ_STAGE_BASELINE), &data), SECCOMP_RET_ALLOW, "a process");
}

/* Below a jail's own filter: it takes nothing from that, neither a call nor an error nor a report, and gives a zygote no more than births take. */
Test(seccomp, the_zygotes)
{
	static const char *const never[] = {
		"fork",   "vfork",  "socket",   "connect",      "bind",      "io_uring_setup",  "userfaultfd",
		"keyctl", "ptrace", "add_key",  "bpf",          "setns",     "perf_event_open", "pidfd_open",
		"chroot", "mknod",  "execveat", "memfd_create", "chmod",     "pivot_root",      "sendmsg",
		"fsopen", "kcmp",   "umount2",  "pidfd_getfd",  "move_mount"
	};
	const struct aj_filter *zygote = aj_filter_zygote(AJ_PROFILE_SNIPPET);
	for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
		struct seccomp_data data = { .nr = nr_of(never[i]), .arch = NATIVE };
		cr_expect_eq(interpret(zygote, &data), SECCOMP_RET_TRACE, "`%s`", never[i]);
	}
	const struct {
		const char *name;
		uint64_t args[4];
		bool allowed;
	} rows[] = {
		{ "clone", { AJ_BIRTH_FLAGS }, true },
		{ "clone", { AJ_BIRTH_FLAGS & ~0x20000000u }, false },
		{ "clone", { 17 }, false },
		{ "unshare", { 0x02000000 }, false },
		{ "unshare", { 0x10000000 }, false },
		{ "mount", { 0, 0, 0, 6 | 8 }, true },
		{ "mount", { 0, 0, 0, 6 | 0x1000 }, false },
		{ "mount", { 0, 0, 0, 0x20 | 6 }, false },
		{ "mount", { 0, 0, 0, 2 }, false },
		{ "prctl", { 4 }, true },
		{ "prctl", { 59 }, false },
		{ "seccomp", { 1, 8 }, true },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct seccomp_data data = { .nr = nr_of(rows[i].name), .arch = NATIVE };
		memcpy(data.args, rows[i].args, sizeof rows[i].args);
		cr_expect_eq(interpret(zygote, &data) == SECCOMP_RET_ALLOW, rows[i].allowed, "`%s` %#lx", rows[i].name, data.args[0]);
	}
	/* Every call that a jail may make is allowed below this filter too. */
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int nr = 0; nr < 512; nr++) {
			struct seccomp_data data = { .nr = nr, .arch = NATIVE };
			uint32_t own = interpret(aj_filter_ready((enum aj_profile)p, AJ_NET_NONE), &data);
			uint32_t below = interpret(aj_filter_zygote((enum aj_profile)p), &data);
			bool traces = nr == SYS_ptrace || nr == SYS_process_vm_readv || nr == SYS_process_vm_writev;
			cr_expect(below == SECCOMP_RET_ALLOW ? !traces : below == SECCOMP_RET_TRACE && (traces || own != SECCOMP_RET_ALLOW),
			          "nr %d: %#x", nr, below);
		}
}

/* A process that parses foreign bytes: nothing that makes processes, signals, writes files or listens. */
Test(seccomp, the_relays)
{
	/* clang-format off */
	static const char *const never[] = {
		"fork",   "vfork",       "clone",     "clone3",           "execve",       "execveat",          "kill",     "tkill",   "tgkill",
		"ptrace", "bind",        "listen",    "socketpair",       "open",         "creat",             "unlinkat", "renameat", "write",
		"mount",  "unshare",     "setns",     "bpf",              "seccomp",      "process_vm_readv",  "prctl",    "dup",      "pidfd_getfd",
		"chroot", "io_uring_setup", "keyctl", "perf_event_open",  "memfd_create", "pidfd_send_signal", "linkat",   "fchmodat", "setuid",
	};
	const struct {
		const char *name;
		uint64_t args[4];
		bool allowed;
	} rows[] = {
		{ "socket", { 2, 1 | 0x80800 }, true },  { "socket", { 10, 2 }, true }, { "socket", { 1, 1 }, false },
		{ "socket", { 2, 3 }, false },           { "socket", { 16, 3 }, false }, { "openat", { 0, 0, 0x80000 }, true },
		{ "openat", { 0, 0, 1 }, false },        { "openat", { 0, 0, 2 }, false }, { "openat", { 0, 0, 0x40 }, false },
		{ "openat", { 0, 0, 0x200 }, false },    { "mmap", { 0, 4096, 3 }, true }, { "mmap", { 0, 4096, 5 }, false },
		{ "mprotect", { 0, 4096, 4 }, false },   { "getsockopt", { 3, 0, 80 }, true }, { "setsockopt", { 3, 0, 1 }, false },
		{ "fcntl", { 3, 0 }, false },            { "splice", { 0 }, true },
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
		struct seccomp_data data = { .nr = nr_of(never[i]), .arch = NATIVE };
		cr_expect_eq(interpret(aj_filter_relay(), &data), SECCOMP_RET_ERRNO | ENOSYS, "`%s`", never[i]);
	}
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct seccomp_data data = { .nr = nr_of(rows[i].name), .arch = NATIVE };
		memcpy(data.args, rows[i].args, sizeof rows[i].args);
		cr_expect_eq(interpret(aj_filter_relay(), &data) == SECCOMP_RET_ALLOW, rows[i].allowed, "`%s`, row %zu", rows[i].name, i);
	}
}

/* The interpreter above agrees with the kernel: a child locks itself in and tries. */
static int in_a_child(enum aj_profile profile, bool foreign)
{
	pid_t child = fork();
	if (child == 0) {
		struct aj_error err = { 0 };
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || aj_filter_install(aj_filter_ready(profile, AJ_NET_NONE), &err) < 0)
			_exit(40);
#ifdef __x86_64__
		if (foreign) {
			long r;
			__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory"); /* getpid of i386 */
			_exit(41);
		}
#endif
		bool snippet = profile == AJ_PROFILE_SNIPPET;
		if (syscall(SYS_getpid) <= 0)
			_exit(42);
		if (syscall(SYS_socket, 2, 1, 0) != -1 || errno != (snippet ? EPERM : EAFNOSUPPORT))
			_exit(43);
		if (syscall(SYS_clone3, NULL, 0) != -1 || errno != ENOSYS)
			_exit(44);
		if (syscall(SYS_ioctl, 0, 1UL << 32 | 0x5412, "x") != -1 || errno != (snippet ? ENOTTY : EIO))
			_exit(45);
		if (snippet && (syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != -1 ||
		                errno != EPERM))
			_exit(46);
		if (syscall(SYS_unshare, 0x10000000) != -1 || errno != EPERM)
			_exit(47);
		_exit(0);
	}
	int status = -1;
	waitpid(child, &status, 0);
	return status;
}

Test(seccomp, the_kernel_agrees)
{
	cr_expect_eq(in_a_child(AJ_PROFILE_SNIPPET, false), 0);
	cr_expect_eq(in_a_child(AJ_PROFILE_COMMAND, false), 0);
#ifdef __x86_64__
	int status = in_a_child(AJ_PROFILE_SNIPPET, true);
	cr_expect(WIFSIGNALED(status), "an i386 call came back: status %#x", status);
#endif
}

Test(seccomp, an_empty_filter_is_not_installed)
{
	static const struct aj_filter empty = { 0 };
	struct aj_error err = { 0 };
	cr_expect_eq(aj_filter_install(&empty, &err), -1);
	cr_expect_eq(err.exit_code, AJ_EXIT_SETUP);
}
