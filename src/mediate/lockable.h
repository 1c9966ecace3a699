/* Which open files of a jail it may lock: regular files and folders on mounts that are its own, or that are bound writable by the policy. What
 * else can be open in a jail is one inode for everybody: devices, eventfds and their like, namespaces, what the caller has handed down. */
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "plan/plan.h"
#include "seccomp/notify.h"

enum { AJ_LOCKABLE_PIPES = 2 };

struct aj_lockable {
	uint64_t *mounts; /* by the number that the kernel gives each mount */
	size_t count;
	dev_t pipe_dev[AJ_LOCKABLE_PIPES]; /* the outputs, where they are pipes that were made for this jail alone */
	ino_t pipe_ino[AJ_LOCKABLE_PIPES];
	bool known;
};

/* Reads the mounts of the jail's process. `pipes`: our ends of its outputs, or -1. -1: the kernel does not say, and nothing may be locked. */
int aj_lockable_find(struct aj_lockable *l, const struct aj_plan *plan, pid_t tid, const int pipes[AJ_LOCKABLE_PIPES]);
void aj_lockable_free(struct aj_lockable *l);

/* What `number` is in the process or thread `tid` below /proc, or (0) whose folder of /proc that is: 1 may be locked, 0 may not, -1 with errno. */
int aj_lockable_at(const struct aj_lockable *l, int folder, pid_t tid, int number);
/* The same of a descriptor of ours. */
int aj_lockable_fd(const struct aj_lockable *l, int fd);
/* Does that process hold a POSIX lock that it took by that descriptor? */
bool aj_lockable_held(int folder, int number);
/* The caller's struct flock. 0, or errno. */
int aj_lockable_range(const struct aj_notification *call, struct flock *ret);
/* Threads of that process, and 0 when it is gone. */
int aj_lockable_threads(int folder, pid_t tid);
