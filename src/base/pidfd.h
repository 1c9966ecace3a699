/* Processes by pidfd, which always refers to the same process; a pid may belong to another process by the time it is used. */
#pragma once
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

int aj_pidfd_open(pid_t pid); /* close-on-exec; -1 with errno */
/* Of one thread, whose descriptor table may be its own. Before Linux 6.9: EINVAL unless it leads its thread group. */
int aj_pidfd_open_thread(pid_t tid);
/* A copy of that process's descriptor, close-on-exec; the kernel requires the right to trace the process. -1 with errno. */
int aj_pidfd_copy_fd(int pidfd, int number);
/* Without effect where the process has ended. */
void aj_pidfd_signal(int pidfd, int signal);
/* The process has ended, reaped or not. */
bool aj_pidfd_ended(int pidfd);
/* Is it a child of the caller that was not reaped yet, so that its pid cannot have been reused? */
bool aj_pidfd_is_child(int pidfd);
/* Reap a helper process and close the pidfd (-1: no effect). One that has not ended after the timeout is killed. */
void aj_pidfd_end(int *pidfd, int timeout_ms);
/* Wait for the end of a child, and reap it; `flags`: as of waitid(2), WNOWAIT does not reap. ret_usage may be NULL. */
void aj_pidfd_wait(int pidfd, int flags, struct rusage *ret_usage);
