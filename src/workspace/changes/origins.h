/* Files of the workspace by size and mtime, which a copy-up keeps: finds the old name of a file that a run renamed or linked
 * without writing it. The overlay's own origin attribute is empty in a mount of an ordinary user. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct aj_file_origin {
	long long bytes, mtime_ns;
};

struct aj_origins {
	bool listed;
	struct aj_file_origin *files; /* sorted */
	size_t count, room;
};

/* Whether the workspace has a file with this size and mtime. The first call lists the workspace. */
bool aj_origins_has(struct aj_origins *origins, int workspace, const struct stat *file);
void aj_origins_free(struct aj_origins *origins);
