/* Policies by name. Each is read again when its files have changed; each reading is a version. */
#pragma once
#include <time.h>

#include "policy/host/host.h"
#include "policy/load/load.h"

/* Identity of a file when it was read. */
struct aj_file_id {
	const char *path;
	dev_t device;
	ino_t inode; /* 0: the file did not exist */
	off_t bytes;
	struct timespec changed; /* ctime: utimensat() cannot set it */
};

struct aj_policy_version {
	struct aj_arena arena;
	struct aj_site site;
	struct aj_loaded loaded;
	AJ_LIST(struct aj_file_id) files;
	const char *rootfs;
	unsigned references;
	bool limits_reported; /* those that this host does not enforce */
};

struct aj_cached_policy {
	const char *name;
	const struct aj_ask *ask;
	struct aj_policy_version *current; /* NULL when the last reading failed */
};

/* Read the policy now. NULL with err (the first finding). One reference, the caller's. */
struct aj_policy_version *aj_policy_version_read(const char *site, const struct aj_ask *ask, const char *rootfs,
                                                 struct aj_error *err);
/* Are all files unchanged? */
bool aj_policy_version_fresh(const struct aj_policy_version *version);
void aj_policy_version_release(struct aj_policy_version *version);
