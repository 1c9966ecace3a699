/* Writes the small files of a plan's rows, whose contents the plan holds.
 * It follows no symlink and writes to no existing file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/mounts/mount.h"

/* A copy in a kept home (a row with a mode) replaces that of an earlier run. Runs that share the home may do so at once. */
int aj_mount_text(const struct aj_mount *m, int parent, const char *name)
{
	enum { TRIES = 20 };
	int fd = -1;
	for (int i = 0; i < TRIES && fd < 0 && (i == 0 || errno == EEXIST); i++) {
		if (m->mode)
			unlinkat(parent, name, 0);
		fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	}
	cleanup_fd int file = fd;
	if (file < 0 || aj_write_all(file, m->source, m->mode ? m->size_bytes : strlen(m->source)) < 0 ||
	    (m->mode && fchmod(file, m->mode) < 0))
		return -1;
	return 0;
}
