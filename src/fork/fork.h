/* One branch on its way, inside fork/group.c. */
#pragma once
#include "fork/group.h"

/* Is this reported call the step that the branch under way waits for? Then it was seen to. */
bool aj_fork_call(struct aj_fork_group *group, const struct aj_notification *call, const struct aj_process_info *who);
/* The helper says something. */
void aj_fork_copier(struct aj_fork_group *group);
/* There will be no branch: what there is of it is killed. Without effect when none is under way. */
void aj_fork_fail(struct aj_fork_group *group, int errnum, const char *why);

/* Before any descriptor is closed that aj_fork_group_poll() gave. */
void aj_fork_group_closing(const struct aj_fork_group *group);
/* Is that process one of the family? */
bool aj_fork_group_has(const struct aj_fork_group *group, pid_t process);
