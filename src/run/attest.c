/* Asks the kernel whether a runner's filters and empty capabilities are there, before a byte of code is handed over.
 * It trusts no message from the runner, and takes a line that is missing for a wall that is. */
#include "run/attest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

enum { USUAL_BYTES = 8192, MOST_BYTES = 1 << 20 }; /* a user may be in 65,536 groups, and they are listed */

/* The whole file; in `usual`, or malloced where that is too small. NULL when it cannot be read. */
static char *read_status(const char *path, char usual[USUAL_BYTES])
{
	if (aj_read_text(path, usual, USUAL_BYTES) >= 0)
		return usual;
	char *more = errno == EFBIG ? malloc(MOST_BYTES) : NULL;
	if (more && aj_read_text(path, more, MOST_BYTES) >= 0)
		return more;
	free(more);
	return NULL;
}

int aj_attest_own_filters(void)
{
	char usual[USUAL_BYTES], *status = read_status("/proc/thread-self/status", usual);
	const char *line = status ? strstr(status, "\nSeccomp_filters:") : NULL;
	int count, found = line ? sscanf(line, "\nSeccomp_filters: %d", &count) : 0;
	if (status != usual)
		free(status);
	return found == 1 ? count : -1;
}

static const char *missing(const char *status, size_t filters)
{
	static const char *const walls[] = { "\nSeccomp:\t2\n", "\nNoNewPrivs:\t1\n", "\nCapPrm:\t0000000000000000\n",
		                             "\nCapEff:\t0000000000000000\n", "\nCapBnd:\t0000000000000000\n" };
	char count[40];
	snprintf(count, sizeof count, "\nSeccomp_filters:\t%zu\n", filters);
	for (size_t i = 0; i < sizeof walls / sizeof *walls; i++)
		if (!strstr(status, walls[i]))
			return "the kernel does not confirm the runner's filter and empty capabilities";
	return strstr(status, count) ? NULL : "the kernel does not confirm the number of the runner's filters";
}

const char *aj_attest(pid_t pid, size_t filters)
{
	char path[40], usual[USUAL_BYTES];
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	char *status = pid > 0 ? read_status(path, usual) : NULL;
	if (!status)
		return "the runner's state cannot be read in /proc";
	const char *wrong = missing(status, filters);
	if (status != usual)
		free(status);
	return wrong;
}
