/* What the kernel refused to a jail: counted by the supervisor, call by call, while it answers them.
 * An attested part of the result; it says nothing of calls that only do not exist (ENOSYS). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plan/plan.h"
#include "seccomp/notify.h"
#include "seccomp/syscalls.h"

enum {
	AJ_VIOLATIONS_MAX = 32, /* different calls */
	AJ_VIOLATION_PIDS = 8,  /* processes named for each */
	/* Then the listener is closed: the kernel refuses alone (ENOSYS), and a flood costs the host nothing more. */
	AJ_VIOLATIONS_END = 1000000,
};

struct aj_violation {
	const struct aj_syscall *row;
	uint64_t count;
	pid_t pids[AJ_VIOLATION_PIDS]; /* the first, as the jail sees them */
	size_t pids_count;
	pid_t last_tid;
};

struct aj_violations {
	bool seen; /* false: nobody counted */
	uint64_t total;
	struct aj_violation items[AJ_VIOLATIONS_MAX]; /* in the order of their first time */
	size_t count;
};

/* Sees to a call in place of its refusal; false: it is to be refused. */
struct aj_handler {
	bool (*fn)(void *arg, const struct aj_notification *call);
	void *arg;
};

/* From now on in this process: no signal is taken in use for the answers, as in a program whose signals are not ours. What is
 * lost: a hostile Python tree, whose runner keeps the listener instead of handing it over, can hold the answering thread up. */
void aj_violations_leave_signals(void);

/* The process says that descriptor `number` of it is its filter's listener: taken if it is one, and the first, and the process is a child of
 * `parent`. Else nobody listens. */
void aj_violations_listen(struct aj_violations *v, int *listener_fd, pid_t process, pid_t parent, int number);

/* For a listener that several share: the next call, as aj_notify_take() says, but not waiting for long; and the refusal of one,
 * counted in `v` (NULL: nobody's). */
int aj_violations_take(int listener_fd, struct aj_notification *ret);
int aj_violations_refuse(struct aj_violations *v, const struct aj_plan *plan, int listener_fd, const struct aj_notification *call);

/* Refuse some of the calls that wait, counted in `v` (NULL: nobody's), but for those that `handler` (may be NULL) sees to; returns without
 * having seen to all, so that a flood holds nothing else up. false: the
 * listener is to be closed, as nobody is left, or too many came. */
bool aj_violations_answer(struct aj_violations *v, const struct aj_plan *plan, int listener_fd, const struct aj_handler *handler);
