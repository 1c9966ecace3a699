/* What a branch has of its own and cannot make for itself: id maps, scratch space with a copy of what is in the original's, and
 * open files that are not the original's. A helper process makes them, which joins the branch's namespaces. */
#pragma once
#include <stdint.h>

#include "plan/plan.h"

enum { AJ_COPY_FILES = 256 }; /* open files of a branch */

/* What the helper says, one after the other; a descriptor may come with it. */
enum { AJ_COPY_DONE = -1, AJ_COPY_FAILED = -2 };
struct aj_copy_msg {
	int32_t number; /* place the descriptor at this number of the branch; or one of the above */
	int32_t errnum; /* FAILED */
	char what[100]; /* FAILED */
};

struct aj_copier {
	int pidfd;  /* the helper, a child of ours; -1: none */
	int socket; /* struct aj_copy_msg; -1: none */
};

/* Who is copied: it waits in a call of its own. */
struct aj_copied {
	int parent, branch; /* pidfds */
	int proc_fd;        /* the branch's folder in /proc */
	const char *leaf;   /* the jail's cgroup, or "": memory of the copies is charged there */
};

/* Start the helper. -1 with err. */
int aj_copier_start(struct aj_copier *copier, const struct aj_plan *plan, const struct aj_copied *who, struct aj_error *err);
/* 1 a message, 0 the helper is gone, -1 with errno (EAGAIN: nothing there). */
int aj_copier_read(struct aj_copier *copier, struct aj_copy_msg *ret, int *ret_fd);
/* End it, if it still runs, and forget it. */
void aj_copier_end(struct aj_copier *copier);
