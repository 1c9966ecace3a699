/* The supervisor's end of a filter's listener: notifications of calls that are refused, mediated, or steps of a branch. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct aj_notification {
	uint64_t id;
	pid_t tid; /* as numbered in the supervisor's PID namespace; 0: not visible there */
	int nr;
	uint64_t args[6];
};

/* Is this descriptor a seccomp listener? A jail may name any descriptor. */
bool aj_notify_listener(int fd);
/* May the supervisor take descriptors of that process, a new jail's init and still a copy of the supervisor? The kernel, an outer
 * filter or a security module may deny it; the answer for init applies to all its descendants. */
bool aj_notify_may_take(int pidfd);
/* A copy of the listener that the process has under that number, close-on-exec; -1: no such descriptor, or it cannot be taken. */
int aj_notify_take_listener(int pidfd, int number);

/* 1: a notification is in `ret`; 0: none is pending; -1: no process is left under the filter. Does not block, unless another
 * process reads the same listener; a signal ends that. */
int aj_notify_take(int listener_fd, struct aj_notification *ret);

/* Copy `bytes` bytes of the caller's memory from the address in argument `index`: it may change them meanwhile. The kernel
 * requires the right to trace the caller. -1 with errno: not all could be read. */
int aj_notify_read(const struct aj_notification *call, int index, void *out, size_t bytes);
/* Is the caller still blocked in this call? Then what /proc says about `tid` is about the caller. */
bool aj_notify_waits(int listener_fd, uint64_t id);

/* The calls that may be continued, each once per branch, and only while that branch waits for it (only jail/fork/fork.c does so).
 * Their arguments are in registers, which no other process can change after the check:
 * COPY clone with exactly AJ_BRANCH_FLAGS: one more process under the same filter
 * DROP capset: can give up capabilities, and grants none that the caller does not have
 * FOLDER fchdir(0): to a folder that is open already */
enum aj_pass { AJ_PASS_COPY, AJ_PASS_DROP, AJ_PASS_FOLDER };
bool aj_notify_is(const struct aj_notification *call, enum aj_pass which);
/* Continue the call. -1 when it is another call, or its caller no longer waits. */
int aj_notify_pass(int listener_fd, const struct aj_notification *call, enum aj_pass which);
/* A lock on a file: flock, and the locking commands of fcntl. A continued call uses the descriptor that the kernel then finds
 * under the number: only sandbox/mediate/locks.c continues such calls, and explains why no other process can have replaced the
 * descriptor. -1 when the caller no longer waits. */
bool aj_notify_is_lock(const struct aj_notification *call);
int aj_notify_pass_lock(int listener_fd, const struct aj_notification *call);
/* LeakSanitizer starts its tracer by a clone with CLONE_VM, CLONE_FS, CLONE_FILES and CLONE_UNTRACED. Once it passes, two
 * processes may share a descriptor table. Passing returns -1 if the caller no longer waits. */
#define AJ_TRACER_FLAGS 0x800700u
bool aj_notify_is_tracer_clone(const struct aj_notification *call);
int aj_notify_pass_tracer_clone(int listener_fd, const struct aj_notification *call);
/* Install a copy of the supervisor's descriptor in the caller, in place of that number. -1 with errno. */
int aj_notify_place(int listener_fd, uint64_t id, int fd, int number, bool keep_on_exec);

/* Answer 0: the call was made on the caller's behalf, and succeeded. -1: the caller no longer waits. */
int aj_notify_done(int listener_fd, uint64_t id);

/* Fail the call with that errno. 0, or -1 when the kernel takes no answer: closing the listener then ends the caller's wait, with
 * ENOSYS. */
int aj_notify_refuse(int listener_fd, uint64_t id, int errnum);
