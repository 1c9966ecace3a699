/* Policies by name, each read again when its files have changed: an edition is one reading. */
#pragma once
#include <time.h>

#include "plan/host.h"
#include "policy/load.h"

/* What a file looked like when it was read. */
struct aj_stamp {
	const char *path;
	dev_t device;
	ino_t inode; /* 0: it was not there */
	off_t bytes;
	struct timespec changed; /* ctime: nobody can set it */
};

struct aj_edition {
	struct aj_arena arena;
	struct aj_site site;
	struct aj_loaded loaded;
	AJ_LIST(struct aj_stamp) stamps;
	const char *rootfs;
	unsigned references;
};

struct aj_book_entry {
	const char *name;
	const struct aj_ask *ask;
	struct aj_edition *current; /* NULL when the last reading failed */
};

/* Read the policy now. NULL with err (the first finding). One reference, the caller's. */
struct aj_edition *aj_edition_read(const char *site, const struct aj_ask *ask, const char *rootfs, struct aj_error *err);
/* Is it still what the files say? */
bool aj_edition_fresh(const struct aj_edition *edition);
void aj_edition_release(struct aj_edition *edition);
