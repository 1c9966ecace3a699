/* Operations on a live jail's cgroup v2 leaf: kill its processes, read the kernel's counts, remove it.
 * No call has an effect on the path "", which stands for no leaf. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The kernel's counts. A count that it does not provide is 0; `knows_...` says whether a 0 is a count. */
struct aj_leaf_usage {
	uint64_t peak_bytes;    /* highest use of memory; 0: unknown (before Linux 5.19, or no memory controller) */
	uint64_t oom;           /* times that the leaf hit its own limit and nothing could be reclaimed */
	uint64_t oom_kills;     /* processes killed for memory, also for lack of it above the leaf */
	uint64_t pids_refused;  /* forks and threads that pids.max refused */
	bool knows_cpu;         /* cpu_us */
	bool knows_throttling;  /* throttled... */
	bool knows_io;          /* io_... */
	uint64_t cpu_us;        /* of every process that was in the leaf, reaped or not */
	uint64_t throttled_us;  /* time for which cpu.max throttled the leaf */
	uint64_t throttled;     /* number of such periods */
	uint64_t io_read_bytes; /* from and to block devices */
	uint64_t io_written_bytes;
};

/* Move a process into the leaf if it could not be born there. -1 with errno. */
int aj_leaf_take(const char *path, pid_t pid);

/* Send SIGKILL to every process in the leaf. */
void aj_leaf_kill(const char *path);

/* Remove cpu.max: processes need processor time to exit. */
void aj_leaf_unthrottle(const char *path);

/* Read the usage so far. */
void aj_leaf_read(const char *path, struct aj_leaf_usage *ret);

/* The same, only pids_refused. */
uint64_t aj_leaf_pids_refused(const char *path);

/* Turn counts since the leaf's creation into counts since `before`; the peak stays. */
void aj_leaf_since(struct aj_leaf_usage *usage, const struct aj_leaf_usage *before);

/* Remove the leaf; all its processes are gone. */
void aj_leaf_remove(const char *path);
