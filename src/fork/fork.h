/* One branch under way; private to src/fork/. */
#pragma once
#include "fork/group.h"

/* Handles a reported call if it is the next step of the branch under way; false: it is not. */
bool aj_fork_call(struct aj_fork_group *group, const struct aj_notification *call, const struct aj_process_info *info);
/* Read the helper's messages. */
void aj_fork_copier(struct aj_fork_group *group);
/* Fail the branch under way, if any, and kill what exists of it. */
void aj_fork_fail(struct aj_fork_group *group, int errnum, const char *why);

/* Call before closing any descriptor that aj_fork_group_poll() returned. */
void aj_fork_group_closing(const struct aj_fork_group *group);
/* Is this process in the fork group? */
bool aj_fork_group_has(const struct aj_fork_group *group, pid_t process);
