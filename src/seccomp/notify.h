/* The supervisor's end of a filter whose refusals are reported: calls that wait to be refused, or are a step of a branch. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct aj_notification {
	uint64_t id;
	pid_t tid; /* as our PID namespace sees it; 0: not at all */
	int nr;
	uint64_t args[6];
};

/* Is it what the kernel made for a filter? What a jail names may be any descriptor. */
bool aj_notify_listener(int fd);
/* May we take descriptors of that process, which is a new jail's init and still a copy of us? The kernel, a filter above us or a security
 * module may not let us; what holds for init then holds for all that it starts. */
bool aj_notify_may_take(int pidfd);
/* A copy of the listener that the process has at that number; -1: there is none, or it cannot be taken. Close-on-exec. */
int aj_notify_take_listener(int pidfd, int number);

/* 1 a call waits in `ret`, 0 none does (any more), -1 nobody is left who could call. Does not wait, unless somebody else
 * reads the same listener; a signal ends that. */
int aj_notify_take(int listener_fd, struct aj_notification *ret);

/* Does the caller still wait? If so, what /proc said about `tid` was about the caller. */
bool aj_notify_waits(int listener_fd, uint64_t id);

/* The calls that can be let pass, each once for every branch, and only while that branch waits for it (fork/fork.c is the one
 * place that does). What they need is in registers, where nobody can change it after we looked:
 *   COPY    clone with exactly AJ_BRANCH_FLAGS: one process more, under the same filter
 *   DROP    capset: can give up capabilities, and gives none that the caller does not have
 *   FOLDER  fchdir(0): to a folder that is open already */
enum aj_pass { AJ_PASS_COPY, AJ_PASS_DROP, AJ_PASS_FOLDER };
bool aj_notify_is(const struct aj_notification *call, enum aj_pass which);
/* -1 when it is not that call, or nobody waits any more. */
int aj_notify_pass(int listener_fd, const struct aj_notification *call, enum aj_pass which);
/* A lock on a file: flock, and those commands of fcntl. Its caller goes on with it, by the descriptor that it then finds at that number:
 * mediate/locks.c alone lets one pass, and knows why nobody else can have put another one there. -1 when nobody waits any more. */
bool aj_notify_is_lock(const struct aj_notification *call);
int aj_notify_pass_lock(int listener_fd, const struct aj_notification *call);
/* A copy of our descriptor in the caller, at exactly that number, in place of what was there. -1 with errno. */
int aj_notify_place(int listener_fd, uint64_t id, int fd, int number, bool keep_on_exec);

/* The call was made in its caller's place, and went well. -1: nobody waits for that any more. */
int aj_notify_done(int listener_fd, uint64_t id);

/* Let the call fail with that error. 0, or -1 when the kernel takes no answer: closing the
 * listener then ends the wait of its caller, with ENOSYS. */
int aj_notify_refuse(int listener_fd, uint64_t id, int errnum);
