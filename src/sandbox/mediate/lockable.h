/* Decides which open files a jail may lock: regular files and folders on mounts that are the jail's own, or that the policy binds
 * writable. Any other open file is one inode shared with the host: devices, eventfds and the like, namespaces, files inherited
 * from the caller. */
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "policy/plan/plan.h"
#include "policy/seccomp/notify.h"

enum { AJ_LOCKABLE_PIPES = 2 };

struct aj_lockable {
	uint64_t *mounts; /* mount ids */
	size_t count;
	dev_t pipe_dev[AJ_LOCKABLE_PIPES]; /* the output pipes that were made for this jail alone */
	ino_t pipe_ino[AJ_LOCKABLE_PIPES];
	bool known;
};

/* Read the mounts of the jail's process. `pipes`: our ends of its outputs, or -1. -1: unknown, and nothing may be locked. */
int aj_lockable_find(struct aj_lockable *l, const struct aj_plan *plan, pid_t tid, const int pipes[AJ_LOCKABLE_PIPES]);
void aj_lockable_free(struct aj_lockable *l);

/* Descriptor `number` of process or thread `tid` below `folder`, an open /proc, or (tid 0) of the process whose /proc folder that
 * is: 1 lockable, 0 not, -1 with errno. */
int aj_lockable_at(const struct aj_lockable *l, int folder, pid_t tid, int number);
/* The same for a descriptor of ours. */
int aj_lockable_fd(const struct aj_lockable *l, int fd);
/* Does the process hold a POSIX lock through that descriptor? */
bool aj_lockable_has_lock(int folder, int number);
/* Copy the caller's struct flock. 0, or errno. */
int aj_lockable_range(const struct aj_notification *call, struct flock *ret);
/* Number of threads of the process; 0: gone. */
int aj_lockable_threads(int folder, pid_t tid);
