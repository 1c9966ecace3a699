/* A snippet's system calls in two stages. The baseline stands before the first instruction of the Python tree, which may be
 * foreign; the runner installs the stage above it when Python has started.
 * After the start no call is allowed beyond the snippet's own list: both stages together answer like that list, which a unit test
 * checks for every call. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "policy/seccomp/rows.h"

/* clang-format off */
/* The calls that CPython, its loader and extension modules make until the code begins, and that the snippet's list does not have.
 * Any program that the tree contains is bounded: it starts no process, opens no socket, and a filter of its own has no listener
 * that could continue a refused call. */
static const struct aj_syscall startup[] = {
	{ .name = "execve", .why = "Python itself; it may start another program of its tree, which runs under the same filter" },
	{ .name = "access", .why = "the loader looks for a list of preloads" },
	{ .name = "faccessat", .why = "the same, where there is no access" },
	{ .name = "open", .why = "extension modules that are linked with an older C library, or with none" },
	{ .name = "stat", .why = "the same" },
	{ .name = "lstat", .why = "the same" },
	{ .name = "eventfd2", .why = "such modules wake their threads" },
	{ .name = "arch_prctl", .arg = { IS(0, 0x1002) }, .why = "ARCH_SET_FS: thread-local storage" },
	{ .name = "set_tid_address", .why = "libc starts" },
	{ .name = "getgid", .why = "whether the environment may be trusted" },
	{ .name = "getegid", .why = "the same" },
	{ .name = "prlimit64", .arg = { ARG(2, UINT64_MAX, 0) }, .why = "reading any limit: the size of stacks" },
	{ .name = "seccomp", .arg = { IS(0, 1), ARG(1, 8 | 2, 0) },
	  .why = "SECCOMP_SET_MODE_FILTER, without a listener or records: what is above this list" },
};
/* clang-format on */

enum { STARTUP = sizeof startup / sizeof *startup };

static bool is_startup_call(const char *name)
{
	for (int i = 0; i < STARTUP; i++)
		if (strcmp(startup[i].name, name) == 0)
			return true;
	return false;
}

/* The start maps machine code, so the baseline has the list with python.native = "tree"; a snippet without it is refused more of
 * this call. */
static bool is_tighter(enum aj_stage stage, const struct aj_syscall *row)
{
	return stage == AJ_STAGE_ABOVE && row->errnum == EPERM && strcmp(row->name, "mmap") == 0;
}

struct visit {
	enum aj_stage stage;
	aj_syscall_fn *each;
	void *data;
};

static int visit_row(const struct aj_syscall *row, void *data)
{
	const struct visit *v = data;
	struct aj_syscall left = *row;
	if (is_startup_call(row->name) || is_tighter(v->stage, row))
		return v->stage == AJ_STAGE_BASELINE ? 0 : v->each(row, v->data);
	/* The baseline refuses this call, and reports it: a refusal from the newer filter would come first, and go unreported. */
	if (v->stage != AJ_STAGE_BASELINE)
		left.errnum = 0;
	return v->each(&left, v->data);
}

int aj_syscalls_startup_each(aj_syscall_fn *each, void *data)
{
	return aj_syscall_rows_each(startup, STARTUP, each, data);
}

int aj_syscalls_stage_each(enum aj_stage stage, aj_syscall_fn *each, void *data)
{
	struct visit v = { stage, each, data };
	int r = stage == AJ_STAGE_BASELINE ? aj_syscalls_startup_each(each, data) : 0;
	enum aj_profile profile = stage == AJ_STAGE_ABOVE ? AJ_PROFILE_SNIPPET : AJ_PROFILE_NATIVE;
	return r ? r : aj_syscalls_each(profile, AJ_NET_NONE, visit_row, &v);
}
