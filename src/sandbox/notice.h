/* The supervisor's end of a filter whose refusals are reported: calls that wait to be refused. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct aj_notice {
	uint64_t id;
	pid_t tid; /* as our PID namespace sees it; 0: not at all */
	int nr;
	uint64_t args[6];
};

/* Is it what the kernel made for a filter? What came from a jail may be any descriptor. */
bool aj_notice_listener(int fd);

/* 1 a call waits in `ret`, 0 none does (any more), -1 nobody is left who could call. Does not wait, unless somebody else
 * reads the same listener; a signal ends that. */
int aj_notice_take(int listener_fd, struct aj_notice *ret);

/* Does the caller still wait? If so, what /proc said about `tid` was about the caller. */
bool aj_notice_waits(int listener_fd, uint64_t id);

/* Let the call fail with that error. There is no function to let it pass. 0, or -1 when the kernel takes no answer: closing the
 * listener then ends the wait of its caller, with ENOSYS. */
int aj_notice_refuse(int listener_fd, uint64_t id, int errnum);
