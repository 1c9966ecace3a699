/* Finds children of ours that we were never told of: what a zygote was making when it was killed.
 * It touches no process but our own children in the dead zygote's process group, and of those none that we know. */
#include "run/orphans.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/birth.h"

/* Init takes its name when the guest is there, and before the zygote goes on: one without was never told of. */
static bool unknown(const char *name, uint32_t first)
{
	unsigned number;
	return sscanf(name, AJ_BIRTH_NAMED "%u", &number) != 1 || number - first < UINT32_MAX / 2;
}

static bool is_orphan(int proc_fd, const char *pid, pid_t zygote, uint32_t first)
{
	char path[40], text[512];
	int parent, group;
	snprintf(path, sizeof path, "%.20s/stat", pid);
	cleanup_fd int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	/* PID (NAME) STATE PARENT GROUP; a name may hold anything. */
	char *name = strchr(text, '('), *end = strrchr(text, ')');
	if (!name || !end || sscanf(end, ") %*c %d %d", &parent, &group) != 2)
		return false;
	*end = '\0';
	return parent == getpid() && group == zygote && unknown(name + 1, first);
}

void aj_orphans_end(int proc_fd, pid_t zygote, uint32_t first)
{
	int dir_fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = dir_fd < 0 ? NULL : fdopendir(dir_fd);
	if (!dir)
		aj_close(&dir_fd);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		int pid = 0;
		if (sscanf(e->d_name, "%d", &pid) != 1 || pid <= 0 || !is_orphan(proc_fd, e->d_name, zygote, first))
			continue;
		/* Its number is its own until it was waited for, and that is for us to do. */
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (dir)
		closedir(dir);
}
