/* Reads a live runner's processor time, peak memory and scratch space, all from the kernel.
 * Takes nothing from the runner itself; what cannot be read is 0 or not full, and no verdict depends on it alone. */
#include "jail/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/procfs.h"

uint64_t aj_meter_cpu_us(pid_t pid)
{
	/* As clock_getcpuclockid(), which asks the kernel first whether there is such a process. */
	enum { SCHEDULED = 2 };
	struct timespec t;
	if (pid <= 0 || clock_gettime((clockid_t)(~(unsigned)pid << 3 | SCHEDULED), &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void aj_meter_open(pid_t pid, int *status_fd)
{
	char path[40];
	if (*status_fd >= 0 || pid <= 0)
		return;
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	*status_fd = open(path, O_RDONLY | O_CLOEXEC);
}

static unsigned long peak_kib(pid_t pid, int status_fd)
{
	char text[8192];
	ssize_t n = status_fd < 0 ? -1 : pread(status_fd, text, sizeof text - 1, 0);
	if (n == sizeof text - 1) /* the groups of the process, which come first, may be 65,536 */
		return aj_procfs_number(AT_FDCWD, pid, "VmHWM");
	text[n > 0 ? n : 0] = '\0';
	const char *kib = aj_procfs_field(text, "VmHWM");
	return kib ? strtoul(kib, NULL, 10) : 0;
}

void aj_meter_read(pid_t pid, int *status_fd, uint64_t before_us, struct rusage *ret)
{
	uint64_t now_us = aj_meter_cpu_us(pid), used_us = now_us > before_us ? now_us - before_us : 0;
	*ret = (struct rusage){ 0 };
	ret->ru_stime.tv_sec = (time_t)(used_us / 1000000);
	ret->ru_stime.tv_usec = (suseconds_t)(used_us % 1000000);
	aj_meter_open(pid, status_fd);
	ret->ru_maxrss = (long)peak_kib(pid, *status_fd);
}

bool aj_meter_forget_peak(pid_t pid)
{
	char path[40];
	snprintf(path, sizeof path, "/proc/%d/clear_refs", pid);
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, "5", 1) == 1;
}

const char *aj_meter_full(pid_t pid, const struct aj_plan *plan)
{
	for (size_t i = 0; i < plan->mounts.count; i++) {
		char path[4096];
		struct statvfs fs;
		const struct aj_mount *m = &plan->mounts.items[i];
		if (!aj_mount_is_scratch(m))
			continue;
		snprintf(path, sizeof path, "/proc/%d/root%s", pid, m->target);
		if (statvfs(path, &fs) == 0 && ((fs.f_blocks && !fs.f_bavail) || (fs.f_files && !fs.f_favail)))
			return m->target;
	}
	return NULL;
}
