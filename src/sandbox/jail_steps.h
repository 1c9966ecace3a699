/* The steps that a cold start and a jail born from a zygote have in common, each one wall of it.
 * They take everything from the plan and report the step that failed; the order is steps.h's. */
#pragma once
#include "plan/plan.h"

struct aj_steps {
	const struct aj_plan *plan;
	int proc_fd;        /* the host's /proc, O_PATH; a zygote's own from the step `handles` on */
	const char *leaves; /* zygote: what `cgroup` opens, or NULL */
	int cgroup;         /* zygote: where the leaves of its jails are, and nothing above it; -1 without */
	int report_parent;  /* the supervisor's end, to be closed first */
	int *sources;       /* one fd per mount row; then the new root in the first */
	int report;         /* our end of the handshake */
	int control;        /* what becomes the guest's fd 3, -1 without one */
	int out, err;       /* what becomes 1 and 2, -1: keep them */
	bool listens;       /* the supervisor can take the listener of the guest's filter */
};

struct aj_step {
	const char *name;
	int (*run)(struct aj_steps *, struct aj_error *); /* NULL: not for this walker */
};

int aj_step_lock_limits(struct aj_steps *w, struct aj_error *err);
int aj_step_attributes(struct aj_steps *w, struct aj_error *err);
int aj_step_identity(struct aj_steps *w, struct aj_error *err);
int aj_step_hostname(struct aj_steps *w, struct aj_error *err);
int aj_step_no_new_privs(struct aj_steps *w, struct aj_error *err);
int aj_step_stdio(struct aj_steps *w, struct aj_error *err);
int aj_step_session(struct aj_steps *w, struct aj_error *err);
int aj_step_rlimits(struct aj_steps *w, struct aj_error *err);
int aj_step_landlock(struct aj_steps *w, struct aj_error *err);

/* All rows in their order; the first that fails is told to the supervisor, and then this process ends. */
void aj_steps_walk(struct aj_steps *w, const struct aj_step *steps, size_t count);
/* What is no step of the table: errno and this cause are told, then this process ends. */
_Noreturn void aj_steps_give_up(int report, const char *step, const char *cause);
