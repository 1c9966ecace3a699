/* All clone3, clone and fork calls. */
#include "base/clone.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/syscall.h"

long aj_clone3_raw(uint64_t flags, int cgroup_fd, int *ret_pidfd, int *tid)
{
	struct clone_args args = { .flags = flags,
		                   .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		                   .child_tid = (uint64_t)(uintptr_t)tid,
		                   .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD };
	if (ret_pidfd)
		args.flags |= CLONE_PIDFD;
	if (tid)
		args.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_fd;
	}
	return aj_syscall_raw(SYS_clone3, (long)&args, sizeof args, 0, 0, 0, 0);
}

pid_t aj_clone3(uint64_t flags, int cgroup_fd, int *ret_pidfd)
{
	return (pid_t)aj_syscall_errno(aj_clone3_raw(flags, cgroup_fd, ret_pidfd, NULL));
}

pid_t aj_clone_shared(int (*fn)(void *arg), void *arg, void *stack_end, int flags, int *ret_pidfd, int *tid)
{
	return clone(fn, stack_end, flags, arg, ret_pidfd, NULL, tid);
}

pid_t aj_clone_branch(unsigned long flags, int *tid)
{
#ifdef __aarch64__
	return (pid_t)aj_syscall_errno(aj_syscall_raw(SYS_clone, (long)flags, 0, 0, 0, (long)tid, 0));
#else
	return (pid_t)aj_syscall_errno(aj_syscall_raw(SYS_clone, (long)flags, 0, 0, (long)tid, 0, 0));
#endif
}

pid_t aj_fork(void)
{
	return fork();
}

pid_t aj_fork_bare(void)
{
	return _Fork();
}
