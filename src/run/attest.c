/* Asks the kernel whether a runner's filters and empty capabilities are there, before a byte of code is handed over.
 * It trusts no message from the runner, and takes a line that is missing for a wall that is. */
#include "run/attest.h"

#include <errno.h>
#include <stdbool.h>
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

/* `branch`: a copy of a session, whose bounding set is its new user namespace's. */
static const char *missing(const char *status, size_t filters, bool branch)
{
	static const char *const walls[] = { "\nSeccomp:\t2\n",
		                             "\nNoNewPrivs:\t1\n",
		                             "\nCapPrm:\t0000000000000000\n",
		                             "\nCapEff:\t0000000000000000\n",
		                             "\nCapInh:\t0000000000000000\n",
		                             "\nCapAmb:\t0000000000000000\n",
		                             "\nCapBnd:\t0000000000000000\n" };
	char count[40];
	snprintf(count, sizeof count, "\nSeccomp_filters:\t%zu\n", filters);
	for (size_t i = 0; i < sizeof walls / sizeof *walls - branch; i++)
		if (!strstr(status, walls[i]))
			return "the kernel does not confirm the runner's filter and empty capabilities";
	return strstr(status, count) ? NULL : "the kernel does not confirm the number of the runner's filters";
}

static const char *confirm(pid_t pid, size_t filters, bool branch)
{
	char path[40], usual[USUAL_BYTES];
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	char *status = pid > 0 ? read_status(path, usual) : NULL;
	if (!status)
		return "the runner's state cannot be read in /proc";
	const char *wrong = missing(status, filters, branch);
	if (status != usual)
		free(status);
	return wrong;
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
static pid_t number(const char *status, const char *name)
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
	char path[40], usual[USUAL_BYTES];
	snprintf(path, sizeof path, "/proc/%d/status", tid);
	char *status = tid > 0 ? read_status(path, usual) : NULL;
	if (!status)
		return (struct aj_attested){ 0 };
	struct aj_attested found = { .process = number(status, "\nTgid:"),
		                     .parent = number(status, "\nPPid:"),
		                     .inner = number(status, "\nNStgid:"),
		                     .threads = number(status, "\nThreads:") };
	if (status != usual)
		free(status);
	return found;
}

/* Is everything private that a copy of the process could write to? */
static const char *shared(const char *maps)
{
	for (const char *line = maps, *next; *line; line = next) {
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

const char *aj_attest_copyable(pid_t pid)
{
	char path[40], usual[USUAL_BYTES];
	if (aj_attest_process(pid).threads != 1)
		return "threads are running in the session, and a copy would be without them: join them in a snippet";
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	char *maps = read_status(path, usual);
	const char *wrong = maps ? shared(maps) : "the memory of the session cannot be listed";
	if (maps != usual)
		free(maps);
	return wrong;
}
