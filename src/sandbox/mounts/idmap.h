/* Mounts that show one owner's files as another id's (MOUNT_ATTR_IDMAP): for root, whose jails have an id of their own. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct aj_idmap {
	uid_t uid, to_uid;
	gid_t gid, to_gid;
};

/* A user namespace that holds the mapping; -1 with err. A child process makes it, and is gone on return. */
int aj_idmap_namespace(const struct aj_idmap *map, struct aj_error *err);
/* A detached, idmapped mount of the folder `dir`. recursive: with the mounts below it. -1 with errno: EINVAL if the file system
 * does not support such mounts. */
int aj_idmap_mount(int dir, int userns, bool recursive);
