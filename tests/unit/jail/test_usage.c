/* Tests of jail/usage: the peak memory of a live process, also of one whose status file is larger than most.
 * A process can have thousands of groups where this test runs as root; elsewhere that part is skipped. */
#include <criterion/criterion.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/usage.h"

enum { GROUPS = 5000, FIRST_GROUP = 1000, USED_BYTES = 64 << 20 };

static pid_t child = -1;
static int status_fd = -1;

/* A child that has used so much memory, and given it back, and is stopped then. */
static void start(size_t groups)
{
	child = fork();
	if (child == 0) {
		static gid_t ids[GROUPS];
		for (size_t i = 0; i < groups; i++)
			ids[i] = FIRST_GROUP + (gid_t)i;
		char *used = mmap(NULL, USED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if ((groups && setgroups(groups, ids) < 0) || used == MAP_FAILED)
			_exit(1);
		memset(used, 1, USED_BYTES);
		munmap(used, USED_BYTES);
		raise(SIGSTOP);
		_exit(0);
	}
	int status = 0;
	cr_assert_eq(waitpid(child, &status, WUNTRACED), child);
	cr_assert(WIFSTOPPED(status));
}

/* Of the whole file, by another reader. */
static size_t status_bytes(unsigned long *ret_peak_kib)
{
	char path[40], line[1 << 17];
	size_t bytes = 0;
	snprintf(path, sizeof path, "/proc/%d/status", child);
	FILE *file = fopen(path, "r");
	cr_assert_not_null(file);
	while (fgets(line, sizeof line, file)) {
		bytes += strlen(line);
		sscanf(line, "VmHWM: %lu", ret_peak_kib);
	}
	fclose(file);
	return bytes;
}

static void end(void)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	if (status_fd >= 0)
		close(status_fd);
}
TestSuite(usage, .fini = end);

static void expect_peak(void)
{
	struct rusage usage;
	unsigned long peak_kib = 0;
	status_bytes(&peak_kib);
	cr_assert_gt(peak_kib, USED_BYTES >> 10);
	for (int i = 0; i < 2; i++) { /* the second time by the open file */
		aj_meter_read(child, &status_fd, 0, &usage);
		cr_expect_eq((unsigned long)usage.ru_maxrss, peak_kib);
		cr_expect_geq(status_fd, 0);
	}
}

Test(usage, peak_memory)
{
	start(0);
	expect_peak();
}

Test(usage, peak_memory_behind_thousands_of_groups)
{
	unsigned long peak_kib = 0;
	if (geteuid() != 0)
		cr_skip_test("only root has thousands of groups");
	start(GROUPS);
	cr_assert_gt(status_bytes(&peak_kib), 8192);
	expect_peak();
}

Test(usage, of_no_process)
{
	struct rusage usage;
	aj_meter_read(0, &status_fd, 0, &usage);
	cr_expect(usage.ru_maxrss == 0 && usage.ru_stime.tv_sec == 0 && usage.ru_stime.tv_usec == 0);
	cr_expect_eq(status_fd, -1);
}
