/* The supplementary groups of one thread. libc's setgroups() would change all threads of the surrounding program. */
#pragma once
#include <sys/types.h>

struct aj_groups {
	gid_t *list;
	int count; /* 0: nothing was changed */
};

/* Both: -1 with errno. To restore frees the list, also after an error of the first. */
int aj_groups_drop(struct aj_groups *ret);
int aj_groups_restore(struct aj_groups *groups);
