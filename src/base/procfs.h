/* What the kernel says about a runner's walls, in /proc: the runner's own word is not taken. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* The filters that this thread runs under itself, which every jail inherits; -1 when the kernel does not say. */
int aj_procfs_own_filters(void);

/* NULL when `pid` can be copied with all that it holds: one thread, and no memory that the copy would share. */
const char *aj_procfs_why_not_copyable(pid_t pid);
/* A process as /proc shows it, in our PID namespace; 0: not there. `ret_inner`: as the innermost namespace numbers it. */
struct aj_process_info {
	pid_t process, parent, inner;
	int threads;
};
struct aj_process_info aj_procfs_process(pid_t tid);
/* A pidfd of the process `pid`, if it is alive and a child of `parent`; else -1. */
int aj_procfs_open_child(pid_t pid, pid_t parent, struct aj_process_info *ret);

/* NULL when a branch is what its original was: the same, but for the bounding set, which a new user namespace fills: without exec, which
 * its filter refuses, and with no_new_privs nothing comes of it. */
const char *aj_procfs_check_fork(pid_t pid, size_t filters);
/* NULL when `pid` is a process, a child of the jail's init, with exactly that many filters, no_new_privs and no capabilities; else what is
 * wrong. Whoever holds an end of the jail's channels, as a zygote may, can say that it is armed. */
const char *aj_procfs_check_walls(pid_t pid, pid_t init, size_t filters);
