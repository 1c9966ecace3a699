/* Birth of a jail inside a zygote: its init, which shares the zygote's memory as a vfork child does but stays, and from that
 * its guest, a copy of the zygote. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "plan/plan.h"

struct aj_nest {
	const struct aj_plan *plan;
	int report_fd;
	uint32_t number; /* of the order */
	int cgroup_fd;   /* the guest is born into it; -1: where the zygote is */
	int init_ready;  /* guest: readable when init has given up all that it could do */
	int init_pidfd; /* zygote: init, or -1; the caller's to close. Also where there is no jail: it is the supervisor's child, to be waited for */
};

/* Where libc keeps this thread's number; NULL where the kernel does not say. First called before the filter, which does not let ask. */
int *aj_birth_tid(void);
/* Once, before the first birth. NULL, or what is missing. */
const char *aj_birth_prepare(void);
/* 1 in the guest, 0 in the zygote, -1 in the zygote with errno and no jail. The caller has blocked every signal. */
int aj_birth_birth(struct aj_nest *nest);
/* A plain copy of the zygote, its own child, in no namespaces of its own: for trials. As fork(): 0 in the copy, -1 with errno. */
pid_t aj_birth_copy(void);
/* In the guest: the capabilities that it has in its own user namespace, all of them. -1 with errno. */
int aj_birth_drop_caps(void);
