/* User, group and supplementary group ids of the calling thread or process. */
#pragma once
#include <sys/types.h>

struct aj_groups {
	gid_t *list;
	int count; /* 0: nothing was changed */
};

/* The supplementary groups of the calling thread: libc's setgroups() would change all threads of the surrounding program.
 * Both: -1 with errno. To restore frees the list, also after an error of the first. */
int aj_groups_drop(struct aj_groups *ret);
int aj_groups_restore(struct aj_groups *groups);
/* The same without a way back, for a process of ours. */
int aj_groups_clear(void);

/* The real, effective and saved ids of the calling process, which has one thread: first the group, while the user may still
 * change it. -1 with errno. It leaves the parent-death signal cleared, and the process dumpable as the sysctl fs.suid_dumpable
 * says. */
int aj_ids_take(uid_t uid, gid_t gid);
/* The same, but an id that this user namespace does not map stays as it is. */
int aj_ids_take_mapped(uid_t uid, gid_t gid);
