/* Asks the kernel whether a runner's filters and empty capabilities are there, before a byte of code is handed over.
 * It trusts no message from the runner, and takes a line that is missing for a wall that is. */
#include "run/attest.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"

static char status[1 << 20]; /* a user may be in 65,536 groups, and they are listed */

int aj_attest_own_filters(void)
{
	int count;
	const char *line = aj_read_text("/proc/self/status", status, sizeof status) < 0 ? NULL : strstr(status, "\nSeccomp_filters:");
	return line && sscanf(line, "\nSeccomp_filters: %d", &count) == 1 ? count : -1;
}

const char *aj_attest(pid_t pid, size_t filters)
{
	static const char *const walls[] = { "\nSeccomp:\t2\n", "\nNoNewPrivs:\t1\n", "\nCapPrm:\t0000000000000000\n",
		                             "\nCapEff:\t0000000000000000\n", "\nCapBnd:\t0000000000000000\n" };
	char path[40], count[40];
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	snprintf(count, sizeof count, "\nSeccomp_filters:\t%zu\n", filters);
	if (pid <= 0 || aj_read_text(path, status, sizeof status) < 0)
		return "the runner's state cannot be read in /proc";
	for (size_t i = 0; i < sizeof walls / sizeof *walls; i++)
		if (!strstr(status, walls[i]))
			return "the kernel does not confirm the runner's filter and empty capabilities";
	return strstr(status, count) ? NULL : "the kernel does not confirm the number of the runner's filters";
}
