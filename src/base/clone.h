/* All clone3, clone and fork calls; base/spawn.h starts other programs.
 *
 *   aj_clone3()        a copy of the calling thread, in new namespaces or a cgroup if asked for
 *   aj_clone_shared()  a process that shares the caller's memory, on a stack of its own
 *   aj_clone_branch()  a copy that a filter can recognise by its flags
 *   aj_fork()          a copy of a program that may have more threads
 *   aj_fork_bare()     a copy as of fork(2) without the surrounding program's atfork handlers
 *
 * All: the child's pid, 0 in the child (where it returns), -1 with errno. After any but aj_fork() a copy of a program with more
 * threads must not call malloc() or anything else that takes a lock of libc's: another thread may have held that lock. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

/* clone3(2). `flags`: CLONE_NEW*, and CLONE_PARENT for a sibling, which sends no signal at its end; any other child sends
 * SIGCHLD. cgroup_fd: the cgroup that it is born in; -1: the caller's. ret_pidfd: gets a pidfd of the child; NULL: none. */
pid_t aj_clone3(uint64_t flags, int cgroup_fd, int *ret_pidfd);
/* The same without libc, for a caller that shares its memory with another process: a negative errno. `tid` is where libc keeps
 * the thread's number: the kernel writes the child's there, and clears it at the child's end. */
long aj_clone3_raw(uint64_t flags, int cgroup_fd, int *ret_pidfd, int *tid);
/* clone(2) with CLONE_VM: runs fn(arg) on the stack that ends at `stack_end`. ret_pidfd and `tid` as `flags` say. */
pid_t aj_clone_shared(int (*fn)(void *arg), void *arg, void *stack_end, int flags, int *ret_pidfd, int *tid);
/* clone(2), whose flags a filter can read; clone3() has them behind a pointer. */
pid_t aj_clone_branch(unsigned long flags, int *tid);
/* fork(3): resets the locks that other threads hold, and runs atfork handlers. */
pid_t aj_fork(void);
pid_t aj_fork_bare(void);
