/* Compiles the system call tables with libseccomp; the only user of that library.
 * Filters are compiled when the program is built, which saves a millisecond a run. */
#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/seccomp/compile.h"
#include "policy/seccomp/syscalls.h"

enum { ROWS = 1024 };

/* The rows of one filter, in the order of their tables. */
struct rows {
	struct aj_syscall row[ROWS];
	size_t count;
};

static int keep_row(const struct aj_syscall *row, void *data)
{
	struct rows *rows = data;
	if (rows->count == ROWS)
		return -E2BIG;
	rows->row[rows->count++] = *row;
	return 0;
}

static bool is_conditional(const struct aj_syscall *row)
{
	return row->arg[0].mask != 0;
}

/* The call's row for all cases that its other rows do not match; NULL: none. */
static const struct aj_syscall *find_otherwise(const struct rows *rows, const char *name)
{
	const struct aj_syscall *otherwise = NULL;
	bool conditions = false;
	for (size_t i = 0; i < rows->count; i++) {
		const struct aj_syscall *row = &rows->row[i];
		if (strcmp(row->name, name) != 0)
			continue;
		conditions |= is_conditional(row);
		if (!is_conditional(row) && row->errnum)
			otherwise = row;
	}
	return conditions ? otherwise : NULL;
}

static uint32_t row_action(const struct aj_syscall *row)
{
	return row->errnum == AJ_ERRNO_NONE ? SCMP_ACT_ERRNO(0)
	     : row->errnum                  ? SCMP_ACT_ERRNO((uint32_t)row->errnum)
	                                    : SCMP_ACT_ALLOW;
}

/* otherwise: the filter's default action. libseccomp rejects rules with the same action. */
static int add_row(scmp_filter_ctx ctx, const struct aj_syscall *row, uint32_t action, uint32_t otherwise)
{
	int nr = seccomp_syscall_resolve_name(row->name);
	if (nr == __NR_SCMP_ERROR)
		return -EINVAL;
	if (nr < 0 || action == otherwise) /* does not exist on this architecture, or is the default */
		return 0;
	struct scmp_arg_cmp cmp[AJ_SYSCALL_ARGS];
	unsigned count = 0;
	for (int i = 0; i < AJ_SYSCALL_ARGS; i++) {
		const struct aj_arg *a = &row->arg[i];
		if (a->mask)
			cmp[count++] = SCMP_CMP64((unsigned)a->index, SCMP_CMP_MASKED_EQ, a->mask, a->value);
	}
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

/* Releases `ctx`; `r`: result of building it. The number of instructions, or -errno. */
static int finish_filter(scmp_filter_ctx ctx, int r, struct sock_filter *out, size_t room)
{
	cleanup_fd int fd = memfd_create("filter", MFD_CLOEXEC);
	if (r == 0)
		r = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);
	seccomp_release(ctx);
	if (r < 0)
		return r;
	off_t bytes = lseek(fd, 0, SEEK_END);
	if (bytes < 0 || (size_t)bytes > room * sizeof *out || pread(fd, out, (size_t)bytes, 0) != bytes)
		return -EOVERFLOW;
	return (int)((size_t)bytes / sizeof *out);
}

/* Compile all rows; a call with an `otherwise` row is allowed here and decided by a filter of its own. */
static int compile_calls(const struct rows *rows, uint32_t otherwise, struct sock_filter *out, size_t room)
{
	scmp_filter_ctx ctx;
	int r = start_filter(otherwise, &ctx);
	for (size_t i = 0; i < rows->count && r == 0; i++) {
		struct aj_syscall row = rows->row[i];
		uint32_t action = row_action(&row);
		if (find_otherwise(rows, row.name)) {
			memset(row.arg, 0, sizeof row.arg);
			action = SCMP_ACT_ALLOW;
		}
		r = add_row(ctx, &row, action, otherwise);
	}
	return finish_filter(ctx, r, out, room);
}

/* Compile the filter of one call with an `otherwise` row; its first instructions allow all other calls. */
static int compile_otherwise(const struct rows *rows, const struct aj_syscall *otherwise, struct sock_filter *out, size_t room)
{
	enum { HEAD = 3 };
	scmp_filter_ctx ctx;
	int nr = seccomp_syscall_resolve_name(otherwise->name);
	if (nr < 0 || room < HEAD)
		return nr < 0 ? 0 : -EOVERFLOW;
	out[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	out[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 1, 0);
	out[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	int r = start_filter(row_action(otherwise), &ctx);
	for (size_t i = 0; i < rows->count && r == 0; i++)
		if (is_conditional(&rows->row[i]) && strcmp(rows->row[i].name, otherwise->name) == 0)
			r = add_row(ctx, &rows->row[i], row_action(&rows->row[i]), row_action(otherwise));
	r = finish_filter(ctx, r, out + HEAD, room - HEAD);
	bool quiet = otherwise->errnum == EINVAL || otherwise->errnum == ENOTTY;
	for (int i = HEAD; i < HEAD + r && quiet; i++)
		if (out[i].code == (BPF_RET | BPF_K) && out[i].k == row_action(otherwise))
			out[i].jt = AJ_QUIET;
	return r < 0 ? r : HEAD + r;
}

static int compile_rows(const struct rows *rows, uint32_t otherwise, struct sock_filter *out, size_t room)
{
	static struct sock_filter part[AJ_FILTER_ROOM];
	int count = compile_calls(rows, otherwise, out, room);
	for (size_t i = 0; i < rows->count && count > 0; i++) {
		if (&rows->row[i] != find_otherwise(rows, rows->row[i].name))
			continue;
		int more = compile_otherwise(rows, &rows->row[i], part, AJ_FILTER_ROOM);
		if (more > 0) {
			struct aj_filter next = { part, (unsigned short)more };
			more = aj_filter_append(out, room, (unsigned short)count, &next);
			count = more ? more : -EOVERFLOW;
		} else if (more < 0) {
			count = more;
		}
	}
	return count;
}

/* `r`: result of collecting `rows`. */
static int compile(int r, const struct rows *rows, uint32_t otherwise, struct sock_filter *out, size_t room, struct aj_error *err)
{
	int count = r < 0 ? r : compile_rows(rows, otherwise, out, room);
	return count < 0 ? aj_fail(err, AJ_EXIT_SETUP, "seccomp", -count, "compile the filter") : count;
}

int aj_filter_compile(enum aj_profile profile, enum aj_network network, struct sock_filter *out, size_t room,
                      struct aj_error *err)
{
	static struct rows rows;
	rows.count = 0;
	return compile(aj_syscalls_each(profile, network, keep_row, &rows), &rows, SCMP_ACT_ERRNO(ENOSYS), out, room, err);
}

int aj_filter_compile_stage(enum aj_stage stage, struct sock_filter *out, size_t room, struct aj_error *err)
{
	static struct rows rows;
	rows.count = 0;
	return compile(aj_syscalls_stage_each(stage, keep_row, &rows), &rows, SCMP_ACT_ERRNO(ENOSYS), out, room, err);
}

int aj_filter_compile_zygote(enum aj_profile profile, struct sock_filter *out, size_t room, struct aj_error *err)
{
	static struct rows rows;
	rows.count = 0;
	/* Without a ptracer, which may only be the host's, the kernel answers ENOSYS. */
	return compile(aj_syscalls_zygote_each(profile, keep_row, &rows), &rows, SCMP_ACT_TRACE(0), out, room, err);
}

int aj_filter_compile_relay(struct sock_filter *out, size_t room, struct aj_error *err)
{
	static struct rows rows;
	rows.count = 0;
	return compile(aj_syscalls_relay_each(keep_row, &rows), &rows, SCMP_ACT_ERRNO(ENOSYS), out, room, err);
}

int aj_filter_compile_denied(uint64_t group, struct sock_filter *out, size_t room, struct aj_error *err)
{
	static struct rows rows;
	rows.count = 0;
	return compile(aj_syscalls_denied_each(group, keep_row, &rows), &rows, SCMP_ACT_ALLOW, out, room, err);
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
