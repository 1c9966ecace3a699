/* Compiles the system call tables with libseccomp; the only user of that library.
 * The launcher itself does not link this file: filters are compiled when the program is built, which saves a millisecond a run. */
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "seccomp/compile.h"
#include "seccomp/syscalls.h"

static int add_row(const struct aj_syscall *row, void *data)
{
	scmp_filter_ctx ctx = data;
	int nr = seccomp_syscall_resolve_name(row->name);
	if (nr == __NR_SCMP_ERROR)
		return -EINVAL;
	if (nr < 0) /* exists on other architectures only */
		return 0;
	struct scmp_arg_cmp cmp[AJ_SYSCALL_ARGS];
	unsigned count = 0;
	for (int i = 0; i < AJ_SYSCALL_ARGS; i++)
		if (row->arg[i].mask)
			cmp[count++] = SCMP_CMP64((unsigned)row->arg[i].index, SCMP_CMP_MASKED_EQ, row->arg[i].mask, row->arg[i].value);
	uint32_t action = row->errnum == AJ_ERRNO_NONE ? SCMP_ACT_ERRNO(0)
	                : row->errnum                  ? SCMP_ACT_ERRNO((uint32_t)row->errnum)
	                                               : SCMP_ACT_ALLOW;
	int r = seccomp_rule_add_array(ctx, action, nr, count, cmp);
	return r == -EEXIST ? 0 : r;
}

static int start_filter(uint32_t otherwise, scmp_filter_ctx *ret)
{
	*ret = seccomp_init(otherwise);
	if (!*ret)
		return -ENOMEM;
	/* One architecture: calls of i386 and x32 on x86-64 end the process. */
	int r = seccomp_attr_set(*ret, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* A binary tree: fewer instructions per call, and cheaper for the kernel to check. */
	return r ? r : seccomp_attr_set(*ret, SCMP_FLTATR_CTL_OPTIMIZE, 2);
}

/* Releases `ctx`; `r`: result of building it. */
static int finish_filter(scmp_filter_ctx ctx, int r, struct sock_filter *out, size_t room, struct aj_error *err)
{
	cleanup_fd int fd = memfd_create("filter", MFD_CLOEXEC);
	if (r == 0)
		r = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);
	seccomp_release(ctx);
	if (r < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "seccomp", -r, "compile the filter");
	off_t bytes = lseek(fd, 0, SEEK_END);
	if (bytes < 0 || (size_t)bytes > room * sizeof *out || pread(fd, out, (size_t)bytes, 0) != bytes)
		return aj_fail(err, AJ_EXIT_SETUP, "seccomp", EOVERFLOW, "read the filter back");
	return (int)((size_t)bytes / sizeof *out);
}

int aj_filter_compile(enum aj_profile profile, enum aj_network network, struct sock_filter *out, size_t room, struct aj_error *err)
{
	scmp_filter_ctx ctx;
	int r = start_filter(SCMP_ACT_ERRNO(ENOSYS), &ctx);
	if (r == 0)
		r = aj_syscalls_each(profile, network, add_row, ctx);
	return finish_filter(ctx, r, out, room, err);
}

int aj_filter_compile_stage(enum aj_stage stage, struct sock_filter *out, size_t room, struct aj_error *err)
{
	scmp_filter_ctx ctx;
	int r = start_filter(SCMP_ACT_ERRNO(ENOSYS), &ctx);
	if (r == 0)
		r = aj_syscalls_stage_each(stage, add_row, ctx);
	return finish_filter(ctx, r, out, room, err);
}

int aj_filter_compile_zygote(enum aj_profile profile, struct sock_filter *out, size_t room, struct aj_error *err)
{
	scmp_filter_ctx ctx;
	/* Without a ptracer that handles it the kernel answers ENOSYS. A ptracer is on the host, which may do anything to a jail. */
	int r = start_filter(SCMP_ACT_TRACE(0), &ctx);
	if (r == 0)
		r = aj_syscalls_zygote_each(profile, add_row, ctx);
	return finish_filter(ctx, r, out, room, err);
}

int aj_filter_compile_relay(struct sock_filter *out, size_t room, struct aj_error *err)
{
	scmp_filter_ctx ctx;
	int r = start_filter(SCMP_ACT_ERRNO(ENOSYS), &ctx);
	if (r == 0)
		r = aj_syscalls_relay_each(add_row, ctx);
	return finish_filter(ctx, r, out, room, err);
}

int aj_filter_compile_denied(uint64_t group, struct sock_filter *out, size_t room, struct aj_error *err)
{
	scmp_filter_ctx ctx;
	int r = start_filter(SCMP_ACT_ALLOW, &ctx);
	if (r == 0)
		r = aj_syscalls_denied_each(group, add_row, ctx);
	return finish_filter(ctx, r, out, room, err);
}

int aj_syscall_name(int number, char *out, size_t room)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
	bool fits = name && strlen(name) < room;
	if (fits)
		strcpy(out, name);
	free(name);
	return fits ? 0 : -1;
}
