/* The system calls of a zygote, and of the jails that are born from it until their own filter stands: the calls of a jail's list,
 * of Python's start, and of births.
 * It names no refusal: a jail's own list does, and its refusals would not be reported if this filter answered first. */
#include "policy/seccomp/rows.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
#define PRCTL(option, why_) { .name = "prctl", .arg = { IS(0, option) }, .why = why_ }

enum {
	NEW_SCRATCH = 0x2 | 0x4,            /* MS_NOSUID | MS_NODEV */
	NOT_NEW = 0x1e7020,                 /* MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC and what changes propagation */
};

static const struct aj_syscall births[] = {
	/* The zygote: orders, the channels of a jail, and its init. */
	{ .name = "recvmsg", .why = "orders" },
	{ .name = "pipe2", .why = "a jail's output; init's word to the guest" },
	{ .name = "setsockopt", .arg = { IS(1, 1), IS(2, 16) }, .why = "SO_PASSCRED: the kernel names the senders" },
	{ .name = "clone", .arg = { IS(0, AJ_BIRTH_FLAGS) }, .why = "init, into every new namespace" },
	{ .name = "clone3", .why = "the guest, into its cgroup; the trial. Its flags are out of a filter's sight" },
	{ .name = "wait4", .why = "the trial; init, the guest" },
	PRCTL(40, "PR_GET_TID_ADDRESS: libc's thread number"),
	PRCTL(4, "PR_SET_DUMPABLE: closed to others; open to write the id maps"),
	/* Init. */
	PRCTL(28, "PR_SET_SECUREBITS"), PRCTL(24, "PR_CAPBSET_DROP"), PRCTL(47, "PR_CAP_AMBIENT"), PRCTL(15, "PR_SET_NAME"),
	PRCTL(1, "PR_SET_PDEATHSIG"),
	{ .name = "capset", .why = "no capabilities, in its own user namespace" },
	{ .name = "close_range", .why = "every descriptor but its own" },
	{ .name = "rt_sigtimedwait", .why = "init waits" },
	{ .name = "statfs", .why = "is the scratch space full?" },
	/* The guest, in namespaces of its own. */
	{ .name = "setresuid", .why = "the one id" },
	{ .name = "setresgid", .why = "the one id" },
	{ .name = "mount", .arg = { ARG(3, NOT_NEW | NEW_SCRATCH, NEW_SCRATCH) },
	  .why = "scratch space: a new file system, nothing bound or moved" },
	{ .name = "mkdirat", .why = "where scratch space goes, which is there already" },
	{ .name = "fchdir", .why = "the same" },
	{ .name = "chdir", .why = "the working directory" },
	{ .name = "umask", .why = "before mounts" },
	{ .name = "sethostname", .why = "the jail's name" },
	PRCTL(38, "PR_SET_NO_NEW_PRIVS"),
	{ .name = "dup2", .why = "descriptors 0 to 3" },
	{ .name = "dup3", .why = "the same, where there is no dup2" },
	{ .name = "setsid", .why = "a session of its own" },
	{ .name = "prlimit64", .why = "the limits" },
	{ .name = "landlock_create_ruleset", .why = "Landlock" },
	{ .name = "landlock_add_rule", .why = "the same" },
	{ .name = "landlock_restrict_self", .why = "the same" },
	{ .name = "seccomp", .arg = { IS(0, 1) }, .why = "SECCOMP_SET_MODE_FILTER: the jail's own, with its listener" },
};
/* clang-format on */

struct zygote_visit {
	aj_syscall_fn *each;
	void *data;
};

static int has_name(const struct aj_syscall *row, void *name)
{
	return !row->arg[0].mask && strcmp(row->name, name) == 0;
}

/* Never a tracer's calls: a tracer could let calls pass for which this filter returns SECCOMP_RET_TRACE. */
static int each_allowed(const struct aj_syscall *row, void *data)
{
	const struct zygote_visit *v = data;
	char name[sizeof row->name];
	memcpy(name, row->name, sizeof name);
	return row->errnum || aj_syscalls_denied_each(AJ_DENY_PTRACE, has_name, name) ? 0 : v->each(row, v->data);
}

int aj_syscalls_births_each(aj_syscall_fn *each, void *data)
{
	return aj_syscall_rows_each(births, sizeof births / sizeof *births, each, data);
}

int aj_syscalls_zygote_each(enum aj_profile profile, aj_syscall_fn *each, void *data)
{
	struct zygote_visit v = { each, data };
	int r = aj_syscalls_births_each(each, data);
	if (!r)
		r = aj_syscalls_startup_each(each_allowed, &v);
	if (!r) /* the code of Python and of extension modules */
		r = aj_syscalls_native_each(each_allowed, &v);
	return r ? r : aj_syscalls_each(profile, AJ_NET_NONE, each_allowed, &v);
}
