/* The supervisor's side of a jail's file locks. The filter suspends each lock call and reports it.
 *
 * In a single-threaded process the descriptor table cannot change while its call is suspended (the filter lets no two processes
 * share one), so the supervisor checks the descriptor and lets the call pass. With threads, a lock that belongs to the open file
 * description (flock, F_OFD_SETLK) is taken by the supervisor on a duplicate that it has checked. A POSIX lock belongs to the
 * process and cannot be taken in its place: that call passes, and is checked again. A thread that wins this race has to keep the
 * descriptor as it is, since closing or replacing it would release the lock; so it is found, and the jail is ended.
 *
 * With process.ptrace, LeakSanitizer may start its tracer, which shares the descriptor table of its process. From then on POSIX
 * locks of the jail fail with ENOLCK, and all others are taken on duplicates. */
#pragma once
#include "sandbox/mediate/lockable.h"

enum { AJ_LOCK_WAITS = 64, AJ_LOCK_RECHECKS = 64 };

/* A caller that waits for a lock which another process holds. */
struct aj_lock_wait {
	struct aj_notification call;
	int copy; /* duplicate of its descriptor */
	struct flock range;
};

/* A call that passed in a process with several threads. */
struct aj_lock_recheck {
	pid_t tid;
	int thread, process; /* their /proc folders, which stay theirs when pids are reused; 0: a free row */
	int number;          /* of the descriptor; -1: nothing to check */
	uint64_t ticks;      /* processor time used before the call */
};

struct aj_locks {
	struct aj_lockable files;
	int proc_fd; /* 0: not open yet */
	bool shared; /* a tracer was started: processes may share a descriptor table */
	bool many;   /* the group's processes are in several mount namespaces: a jail and its branches */
	struct aj_lock_wait waits[AJ_LOCK_WAITS];
	size_t waiting;
	struct aj_lock_recheck rechecks[AJ_LOCK_RECHECKS];
	int64_t try_us, recheck_us; /* 0: no caller waits; nothing to check */
	int64_t step_us;
};

enum aj_lock {
	AJ_LOCK_NONE,        /* not a lock call, or locks are not mediated */
	AJ_LOCK_HANDLED,     /* passed, made, answered, or pending */
	AJ_LOCK_REFUSED,     /* the caller must refuse and count the call */
	AJ_LOCK_NOT_ALLOWED, /* the same, and must end the jail: it holds a lock that was not allowed */
};

/* `pipes`: our ends of the jail's outputs, or -1. Does not block. */
enum aj_lock aj_locks_call(struct aj_locks *locks, const struct aj_plan *plan, const int pipes[AJ_LOCKABLE_PIPES],
                           int listener_fd, const struct aj_notification *call);
/* When to call aj_locks_due(): INT64_MAX never. */
int64_t aj_locks_deadline_us(const struct aj_locks *locks);
/* Retry pending locks, and re-check passed calls. True: end the jail. */
bool aj_locks_due(struct aj_locks *locks, int listener_fd);
void aj_locks_close(struct aj_locks *locks);
