/* Reads the kernel's files about a process in /proc, mainly to verify a runner's walls.
 * The process itself is asked for nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Number of filters of this thread itself, which every jail inherits; -1 when the kernel does not report it. */
int aj_procfs_own_filters(void);

/* NULL when `pid` can be copied completely: it has one thread, and no memory that the copy would share; else the reason. */
const char *aj_procfs_why_not_copyable(pid_t pid);
/* A process as /proc shows it, in the caller's PID namespace; 0: no such process. `inner`: its pid in the innermost namespace. */
struct aj_process_info {
	pid_t process, parent, inner;
	int threads;
};
struct aj_process_info aj_procfs_process(pid_t tid);
/* `pid` has ended or has begun to: its memory and descriptors may be gone long before it can be waited for. */
bool aj_procfs_is_ending(pid_t pid);
/* Behind `name` and its colon, in the text of a status file; NULL: there is no such line. */
const char *aj_procfs_field(const char *status, const char *name);
/* A decimal number of PID/status, by the name of its line; 0: no such process or line. `proc_fd`: a folder of a /proc, or
 * AT_FDCWD for the caller's own. */
unsigned long aj_procfs_number(int proc_fd, pid_t pid, const char *name);
/* A signal that is neither blocked nor ignored waits for this thread, or it cannot be read any more. */
bool aj_procfs_signalled(int proc_fd, pid_t tid);

/* A pidfd of the process `pid`, if it is alive and a child of `parent`; else -1. */
int aj_procfs_open_child(pid_t pid, pid_t parent, struct aj_process_info *ret);

/* NULL when a branch has its original's walls. The bounding set is not compared: a new user namespace fills it, which has no
 * effect without exec, which the filter refuses, and with no_new_privs. */
const char *aj_procfs_check_fork(pid_t pid, size_t filters);
/* NULL when `pid` is a process, a child of the jail's init, with exactly that many filters, no_new_privs and no capabilities;
 * else the objection. The message that the runner is armed is no proof: a zygote can send it, too. */
const char *aj_procfs_check_walls(pid_t pid, pid_t init, size_t filters);

/* A path of a mountinfo file, in place: blanks, tabs, newlines and backslashes are three octal digits there. */
void aj_procfs_unescape(char *text);
