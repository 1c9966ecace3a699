/* Files of the workspace by size and time of modification, which a copy-up keeps: a file that a run renamed or linked, and did not write, is
 * found here under its old name. The overlay's own mark of the origin is empty where an ordinary user has mounted it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct aj_origin {
	long long bytes, mtime_ns;
};

struct aj_origins {
	bool listed;
	struct aj_origin *files; /* sorted */
	size_t count, room;
};

/* Does the workspace have a file like the one in the view? The first call lists the workspace. */
bool aj_origins_has(struct aj_origins *origins, int workspace, const struct stat *file);
void aj_origins_free(struct aj_origins *origins);
