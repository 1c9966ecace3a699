/* Asks the kernel whether a runner's filters and empty capabilities are there, before a byte of code is handed over.
 * It trusts no message from the runner, and takes a line that is missing for a wall that is. */
#include "run/attest.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

static char status[1 << 20]; /* a user may be in 65,536 groups, and they are listed */

int aj_attest_own_filters(void)
{
	int count;
	const char *line = aj_read_text("/proc/self/status", status, sizeof status) < 0 ? NULL : strstr(status, "\nSeccomp_filters:");
	return line && sscanf(line, "\nSeccomp_filters: %d", &count) == 1 ? count : -1;
}

static const char *confirm(pid_t pid, size_t filters, bool branch)
{
	static const char *const walls[] = { "\nSeccomp:\t2\n",
		                             "\nNoNewPrivs:\t1\n",
		                             "\nCapPrm:\t0000000000000000\n",
		                             "\nCapEff:\t0000000000000000\n",
		                             "\nCapInh:\t0000000000000000\n",
		                             "\nCapAmb:\t0000000000000000\n",
		                             "\nCapBnd:\t0000000000000000\n" };
	char path[40], count[40];
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	snprintf(count, sizeof count, "\nSeccomp_filters:\t%zu\n", filters);
	if (pid <= 0 || aj_read_text(path, status, sizeof status) < 0)
		return "the runner's state cannot be read in /proc";
	for (size_t i = 0; i < sizeof walls / sizeof *walls - branch; i++)
		if (!strstr(status, walls[i]))
			return "the kernel does not confirm the runner's filter and empty capabilities";
	return strstr(status, count) ? NULL : "the kernel does not confirm the number of the runner's filters";
}

const char *aj_attest(pid_t pid, size_t filters)
{
	return confirm(pid, filters, false);
}

const char *aj_attest_branch(pid_t pid, size_t filters)
{
	return confirm(pid, filters, true);
}

/* The last number of a line. */
static pid_t number(const char *name)
{
	const char *line = strstr(status, name);
	long last = 0;
	for (line = line ? line + strlen(name) : ""; *line && *line != '\n';) {
		char *end;
		long next = (long)strtoul(line, &end, 10);
		if (end == line)
			break;
		last = next;
		line = end;
	}
	return (pid_t)last;
}

struct aj_attested aj_attest_process(pid_t tid)
{
	char path[40];
	snprintf(path, sizeof path, "/proc/%d/status", tid);
	if (tid <= 0 || aj_read_text(path, status, sizeof status) < 0)
		return (struct aj_attested){ 0 };
	return (struct aj_attested){
		.process = number("\nTgid:"), .parent = number("\nPPid:"), .inner = number("\nNStgid:"), .threads = number("\nThreads:")
	};
}

const char *aj_attest_copyable(pid_t pid)
{
	char path[40];
	if (aj_attest_process(pid).threads != 1)
		return "threads are running in the session, and a copy would be without them: join them in a snippet";
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	if (aj_read_text(path, status, sizeof status) < 0)
		return "the memory of the session cannot be listed";
	for (const char *line = status, *next; *line; line = next) {
		char rights[5], name[8] = "";
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		if (sscanf(line, "%*x-%*x %4s %*x %*x:%*x %*u%*[ ]%7[^\n]", rights, name) < 1)
			return "the memory of the session cannot be listed";
		/* The Python tree is read-only; everything else that is shared may be written to, now or later. */
		if (rights[3] == 's' && (rights[1] == 'w' || strncmp(name, "/usr/", 5) != 0))
			return "memory is mapped as shared in the session, and a copy would write to it too: use MAP_PRIVATE, or close it";
	}
	return NULL;
}
