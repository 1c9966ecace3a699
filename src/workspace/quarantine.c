/* Quarantine: renames files and folders that a jail has made, beneath the workspace.
 * It removes nothing and copies nothing, so that one command reverts a rename made in error. */
#include "workspace/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/beneath.h"
#include "base/fd.h"

enum { TRIES = 100 };

const char *aj_quarantine(int workspace, const char *path, struct aj_arena *arena)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	cleanup_fd int dir = aj_beneath_open(workspace, slash ? aj_strndup(arena, path, (size_t)(slash - path)) : ".",
	                                     O_PATH | O_DIRECTORY);
	if (dir < 0)
		return NULL;
	/* A jail may have created the candidate names already. */
	unsigned long time_us = (unsigned long)aj_now_us();
	for (int i = 0; i < TRIES; i++) {
		const char *to = aj_printf(arena, "%s.quarantined-%lx", name, time_us + (unsigned long)i);
		if (renameat2(dir, name, dir, to, RENAME_NOREPLACE) == 0)
			return aj_printf(arena, "%.*s%s", (int)(name - path), path, to);
		if (errno != EEXIST)
			return NULL;
	}
	return NULL;
}
