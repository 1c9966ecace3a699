/* Writable workspaces whose owner is not the jail's id. */
#pragma once
#include <sys/stat.h>

#include "sandbox/mounts/built.h"

/* Whether owner and mode of the folder keep the jail's id from creating files in it. */
bool aj_mount_not_writable(const struct aj_plan *plan, const struct stat *folder);
/* Make an idmapped mount of each writable workspace that is closed to the jail's id: root's jails have an id of their own. Init
 * gets them at its birth; then aj_mount_owners_close() closes them here, also after an error. -1 with err if the kernel or the
 * file system has no idmapped mounts. */
int aj_mount_owners_open(struct aj_built *built, struct aj_error *err);
void aj_mount_owners_close(struct aj_built *built);
