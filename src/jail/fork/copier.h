/* The parts of a branch that it cannot make for itself: id maps, scratch space with a copy of the original's files, and open file
 * descriptions of its own. A helper process makes them, which joins the branch's namespaces. */
#pragma once
#include <stdint.h>

#include "policy/plan/plan.h"

enum { AJ_COPY_FILES = 256 }; /* open files of a branch */

/* The helper's messages, in sequence; each may carry a descriptor. */
enum { AJ_COPY_DONE = -1, AJ_COPY_FAILED = -2 };
struct aj_copy_msg {
	int32_t number; /* the descriptor's number in the branch, or one of the above */
	int32_t errnum; /* FAILED */
	char what[100]; /* FAILED */
};

struct aj_copier {
	int pidfd;  /* the helper, a child of ours; -1: none */
	int socket; /* struct aj_copy_msg; -1: none */
};

/* The branch to be furnished; the kernel holds it in a system call. */
struct aj_copier_target {
	int parent, branch; /* pidfds */
	int proc_fd;        /* the branch's folder in /proc */
	const char *leaf;   /* the jail's cgroup, which is charged for the copies, or "" */
};

/* Start the helper. -1 with err. */
int aj_copier_start(struct aj_copier *copier, const struct aj_plan *plan, const struct aj_copier_target *copied,
                    struct aj_error *err);
/* 1 a message, 0 the helper is gone, -1 with errno (EAGAIN: nothing there). */
int aj_copier_read(struct aj_copier *copier, struct aj_copy_msg *ret, int *ret_fd);
/* Kill the helper if it still runs, and reap it. */
void aj_copier_end(struct aj_copier *copier);
