/* The supervisor's side of a jail's locks on files. The kernel holds each lock call and reports it.
 *
 * In a process with one thread nobody can change the table of descriptors while its call is held: the filter lets no two processes share one.
 * So the supervisor looks at what the descriptor is, and lets the call pass. Where there are threads a lock that belongs to the open file
 * (flock, F_OFD_SETLK) is taken by the supervisor on a copy of the descriptor that it has looked at. A POSIX lock belongs to the process, so
 * nobody can take it in its place: that call is let pass, and looked at again. Who wins that race has to leave the descriptor as it is,
 * since closing it, or putting another one there, would take the lock away; so it is found, and its jail is ended. */
#pragma once
#include "mediate/lockable.h"

enum { AJ_LOCK_WAITS = 64, AJ_LOCK_LOOKS = 64 };

/* A caller that waits for a lock which somebody else holds. */
struct aj_lock_wait {
	struct aj_notification call;
	int copy; /* of its descriptor */
	struct flock range;
};

/* A thread that was let pass beside others. */
struct aj_lock_look {
	pid_t tid;
	int thread, process; /* their folders of /proc, which lead to nobody else when they are gone; 0: a free row */
	int number;          /* -1: nothing to be looked at */
	uint64_t ticks;      /* of processor time that it had used */
};

struct aj_locks {
	struct aj_lockable files;
	int proc_fd; /* 0: not open yet */
	bool many;   /* its processes are in several mount namespaces: a jail and its branches */
	struct aj_lock_wait waits[AJ_LOCK_WAITS];
	size_t waiting;
	struct aj_lock_look looks[AJ_LOCK_LOOKS];
	int64_t try_us, look_us; /* 0: nobody waits; nothing is to be looked at */
	int64_t step_us;
};

enum aj_lock {
	AJ_LOCK_NONE,    /* that call is no lock, or locks are not mediated */
	AJ_LOCK_SEEN_TO, /* let pass, made, answered, or waited for */
	AJ_LOCK_REFUSED, /* to be refused by who asks, and counted */
	AJ_LOCK_CHEATED, /* the same, and the jail is to be ended: it holds a lock that nobody let it take */
};

/* `pipes`: our ends of the jail's outputs, or -1. Does not wait. */
enum aj_lock aj_locks_call(struct aj_locks *locks, const struct aj_plan *plan, const int pipes[AJ_LOCKABLE_PIPES],
                           int listener_fd, const struct aj_notification *call);
/* When aj_locks_due() wants to be called: INT64_MAX never. */
int64_t aj_locks_deadline_us(const struct aj_locks *locks);
/* Tries for those who wait, looks again. True: the jail is to be ended. */
bool aj_locks_due(struct aj_locks *locks, int listener_fd);
void aj_locks_close(struct aj_locks *locks);
