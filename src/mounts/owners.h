/* Folders of the host that a jail may write, though their owner is another id than the jail's. */
#pragma once
#include <sys/stat.h>

#include "plan/plan.h"

/* May the jail's id create no files in this folder, by its owner and mode? */
bool aj_mount_closed(const struct aj_plan *plan, const struct stat *folder);
/* Root's jails have an id of their own, and a workspace has another owner as a rule: each writable one that is closed to the jail is shown
 * with its owner's id as the jail's. `*copy` becomes the plan to launch, which the caller ends with aj_mount_owners_close(). -1 with err:
 * this kernel or file system cannot do that. */
int aj_mount_owners_open(struct aj_plan *copy, const struct aj_plan *plan, struct aj_error *err);
void aj_mount_owners_close(struct aj_plan *copy);
