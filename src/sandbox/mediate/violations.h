/* Calls that were refused to a jail: the supervisor counts them while it answers them.
 * An attested part of the result. Calls that no list names (ENOSYS) are not counted. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/seccomp/notify.h"
#include "policy/seccomp/syscalls.h"
#include "sandbox/mounts/built.h"

enum {
	AJ_VIOLATIONS_MAX = 32, /* different calls */
	AJ_VIOLATION_PIDS = 8,  /* pids recorded for each */
	/* Beyond this the listener is closed: the kernel alone refuses (ENOSYS), and a flood costs the host nothing more. */
	AJ_VIOLATIONS_END = 1000000,
};

struct aj_violation {
	const struct aj_syscall *row;
	uint64_t count;
	pid_t pids[AJ_VIOLATION_PIDS]; /* the first ones, as the jail numbers them */
	size_t pids_count;
	pid_t last_tid;
};

struct aj_violations {
	bool seen; /* false: not counted */
	uint64_t total;
	struct aj_violation items[AJ_VIOLATIONS_MAX]; /* in the order of their first occurrence */
	size_t count;
};

/* Handles a call instead of refusing it; false: refuse it. */
struct aj_handler {
	bool (*fn)(void *arg, const struct aj_notification *call);
	void *arg;
};

/* From now on this process uses no signal here, as in a program whose signals are not ours. The price: a hostile Python tree,
 * whose runner keeps the listener, can block the answering thread. */
void aj_violations_leave_signals(void);

/* `process` claims that its descriptor `number` is its filter's listener: taken if that is true, it is the first, and the process
 * is a child of `parent`. Else there is no listener. */
void aj_violations_listen(struct aj_violations *v, int *listener_fd, pid_t process, pid_t parent, int number);

/* For a listener shared by several runs: the next call, as aj_notify_take(), but with a short timeout; and the refusal of a call,
 * counted in `v` (NULL: not counted). */
int aj_violations_take(int listener_fd, struct aj_notification *ret);
int aj_violations_refuse(struct aj_violations *v, const struct aj_built *built, int listener_fd,
                         const struct aj_notification *call);

/* Refuse some of the pending calls, counted in `v` (NULL: not counted), unless `handler` (may be NULL) handles them; bounded, so
 * that a flood delays nothing else. false: close the listener, as no process is left, or too many calls came. */
bool aj_violations_answer(struct aj_violations *v, const struct aj_built *built, int listener_fd,
                          const struct aj_handler *handler);
