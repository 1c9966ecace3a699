/* The steps that a cold start and a jail born from a zygote have in common; each step sets up one wall.
 * A step takes everything from the plan and reports its own failure; steps.h defines the order. */
#pragma once
#include <errno.h>

#include "sandbox/mounts/built.h"

struct aj_steps {
	const struct aj_plan *plan;
	struct aj_built *built; /* NULL in a jail born from a zygote */
	int proc_fd;            /* the host's /proc, O_PATH; a zygote's own from the step `handles` on */
	const char *leaves;     /* zygote: the folder that `cgroup` opens, or NULL */
	int cgroup;             /* zygote: the folder of its jails' leaves, with no access to folders above; -1 without one */
	int report_parent;      /* the supervisor's end, to be closed first */
	int root;               /* the new root, from the step `mounts` to `pivot` */
	int report;             /* init's end of the handshake */
	int control;            /* becomes the guest's fd 3, -1 without one */
	int out, err;           /* become 1 and 2, -1: keep them */
	int terminal;           /* the guest's side of its terminal; -1: none */
	bool listens;           /* the supervisor can take the listener of the guest's filter */
	bool in_host_net;       /* init's network namespace is the host's until the step `network` */
};

struct aj_jail_step {
	const char *name;
	int (*run)(struct aj_steps *, struct aj_error *); /* NULL: another walker's step */
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

/* As the rows of steps.h name them, in each walker's table. */
#define step_lock_limits aj_step_lock_limits
#define step_identity aj_step_identity
#define step_hostname aj_step_hostname
#define step_no_new_privs aj_step_no_new_privs
#define step_stdio aj_step_stdio
#define step_session aj_step_session
#define step_rlimits aj_step_rlimits
#define step_landlock aj_step_landlock

/* Fill `err` with errno for a step that says what failed. Returns -1. */
static inline int aj_step_fail(struct aj_error *err, const char *step, const char *what)
{
	return aj_fail(err, AJ_EXIT_SETUP, step, errno, "%s", what);
}
/* Map the jail's ids to these in the parent user namespace. `proc` is a folder of a process in /proc, or, with "self/" for
 * `process`, /proc itself. NULL, or the file that could not be written, with errno. */
const char *aj_map_ids(const struct aj_plan *plan, int proc, const char *process, uid_t uid, gid_t gid);
/* Run all rows in order; the first failure is reported to the supervisor and ends this process. */
void aj_steps_walk(struct aj_steps *w, const struct aj_jail_step *steps, size_t count);
/* A failure outside the table: report errno and this cause, then end this process. */
_Noreturn void aj_steps_give_up(int report, enum aj_reason reason, const char *step, const char *cause);
