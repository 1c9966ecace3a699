/* A jail's cgroup v2 leaf while it lives: kill what is in it, read what the kernel counted, remove it.
 * Every call is without effect on the path "", which stands for no leaf. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The kernel's own counts. What it does not say is 0, and `knows_...` false where 0 would be an answer. */
struct aj_leaf_usage {
	uint64_t peak_bytes;    /* highest use of memory; 0: unknown (before Linux 5.19, or no memory controller) */
	uint64_t oom;           /* times that the leaf itself was at its limit and nothing could be reclaimed */
	uint64_t oom_kills;     /* processes killed for memory, also for want of it above the leaf */
	uint64_t pids_refused;  /* processes and threads that pids.max forbade */
	bool knows_cpu;         /* cpu_us */
	bool knows_throttling;  /* throttled... */
	bool knows_io;          /* io_... */
	uint64_t cpu_us;        /* of every process that was in it, waited for or not */
	uint64_t throttled_us;  /* that cpu.max kept it waiting */
	uint64_t throttled;     /* periods in which it did */
	uint64_t io_read_bytes; /* from and to block devices */
	uint64_t io_written_bytes;
};

/* Move a process into it, for one that could not be born there. -1 with errno. */
int aj_leaf_take(const char *path, pid_t pid);

/* SIGKILL for everything in it. */
void aj_leaf_kill(const char *path);

/* What is being ended needs processor time for it: no cpu.max from here on. */
void aj_leaf_unthrottle(const char *path);

/* What was used so far. */
void aj_leaf_read(const char *path, struct aj_leaf_usage *ret);

/* Of that alone, pids_refused. */
uint64_t aj_leaf_pids_refused(const char *path);

/* From counts since the leaf was made to counts since `before`; the peak stays what it is. */
void aj_leaf_since(struct aj_leaf_usage *usage, const struct aj_leaf_usage *before);

/* Remove the leaf; all its processes are gone. */
void aj_leaf_remove(const char *path);
