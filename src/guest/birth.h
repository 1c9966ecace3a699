/* Birth of a jail inside a zygote: the jail's init, which shares the zygote's memory like a vfork child but stays, and init's
 * child, the guest, a copy of the zygote. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "policy/plan/plan.h"

struct aj_birth_args {
	const struct aj_plan *plan;
	int report_fd;
	int leaves_fd;    /* the folder of the leaves */
	uint32_t number;  /* number of the order */
	const char *leaf; /* name of the leaf that the guest is born into; "": the zygote's */
	int init_ready;   /* guest: readable once init has dropped its privileges */
	int init_pidfd;   /* zygote: init, or -1; the caller closes it. Set even without a jail: the supervisor reaps init */
};

/* The address of libc's copy of this thread's id; NULL where the kernel does not report it. Call it first before the filter,
 * which refuses the query. */
int *aj_birth_tid(void);
/* Call once, before the first birth. NULL, or the missing requirement. */
const char *aj_birth_prepare(void);
/* Make an init in new namespaces, which waits for its guest: one at a time. `plan`, `report_fd` and `leaves_fd` are set, and kept
 * as long as init lives. -1 with errno: there is none. The caller has blocked every signal. */
int aj_birth_begin(struct aj_birth_args *birth);
/* Have the waiting init make its guest, with `number` and `leaf`. 1 in the guest, 0 in the zygote, -1 in the
 * zygote with errno and no jail; ECHILD: that init had ended. */
int aj_birth_make(struct aj_birth_args *birth);
/* A plain copy of the zygote, its own childin its namespaces, for trials. Like fork(): 0 in the copy, -1 with errno. */
pid_t aj_birth_fork_trial(void);
/* In the guest: drop all capabilities that it still has in its own user namespace. -1 with errno. */
int aj_birth_drop_caps(void);
