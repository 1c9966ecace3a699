/* Starts a jail without a zygote (jail/pool/pool_zygote.h has the other way). aj_launch() returns when the jail's init exists,
 * before its walls stand; the walls and the outcome are reported by messages on `report_fd`. */
#pragma once
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sandbox/mounts/built.h"

struct aj_holder;

/* A launched jail, or a zygote: init, and the supervisor's ends of its channels. */
struct aj_process {
	pid_t init_pid; /* in the supervisor's PID namespace */
	int init_pidfd;
	int report_fd;            /* SOCK_SEQPACKET, struct aj_msg */
	int control_fd;           /* stream to the guest's fd 3, -1 without one */
	int stdout_fd, stderr_fd; /* read ends when the plan captures, else -1 */
	char cgroup[512];         /* leaf of this jail, "" without one */
	struct aj_holder *holder; /* of the zygote's PID namespace that it was born in; NULL: none */
	bool branch;  /* one of several guests of an init: init_pidfd is the guest's own, the leaf is shared by all of them */
	bool listens; /* the supervisor can take a guest's listener */
	int baseline; /* filters under which its program, or its zygote's, starts; the runner installs one more */
	int user_ns, net_ns; /* of a jail with published ports, until aj_process_go(); else -1 */
	bool outside;        /* its guest could not be born in the leaf, and must be moved there before it gets any input */
};

#define AJ_NO_PROCESS                                                                                                 \
	{                                                                                                             \
		.init_pidfd = -1, .report_fd = -1, .control_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .user_ns = -1, \
		.net_ns = -1                                                                                          \
	}

/* The jail's ends of its channels; -1 where the plan has none. */
struct aj_process_ends {
	int report, control, out, err;
};
#define AJ_NO_ENDS             \
	{                      \
		-1, -1, -1, -1 \
	}

/* Make both ends of every channel. -1 with err: then some are open, for aj_process_end() and aj_process_ends_close(). */
int aj_process_channels(const struct aj_plan *plan, struct aj_process *process, struct aj_process_ends *ret_ends,
                        struct aj_error *err);
void aj_process_ends_close(struct aj_process_ends *ends);

/* All fds are close-on-exec and owned by the caller; aj_process_end() closes them. -1 with err set, and nothing left behind. Of
 * `built`, init gets a copy. */
int aj_launch(struct aj_built *built, struct aj_process *ret_process, struct aj_error *err);

/* A jail with published ports waits for this call: until then it has its namespaces, and does nothing in them. */
int aj_process_go(struct aj_process *process, struct aj_error *err);

/* Ask init to kill and reap all processes, so that their usage is counted. A jail that is still being set up ignores this. */
void aj_process_stop(struct aj_process *process);
/* Set the affinity of a process and its future children to this many processors; 0: all. -1 with errno. */
int aj_process_set_affinity(pid_t pid, unsigned processors);

/* End every process of the jail, now. Safe to call twice. */
void aj_process_kill(struct aj_process *process);

/* Wait for init, remove the cgroup, close the fds. All processes of the jail are gone when this returns; `ret_usage` (may be
 * NULL) gets their usage. */
void aj_process_end(struct aj_process *process, struct rusage *ret_usage);
