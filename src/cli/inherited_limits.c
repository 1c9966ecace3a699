/* Checks the resource limits that the caller has set, before anything depends on them.
 * It raises no hard limit, and no soft one above the program's own needs; a jail's own limits are set by the plan. */
#include "cli/inherited_limits.h"

#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>

static const struct {
	int resource;
	rlim_t least;  /* below this a start fails, or crashes */
	rlim_t wanted; /* the soft limit is raised to this where it is below `least` */
	unsigned unit; /* of ulimit's number, in bytes */
	const char *name, *option;
} needs[] = {
	{ RLIMIT_STACK, 256 << 10, 8 << 20, 1 << 10, "the stack", "-s" },
	{ RLIMIT_NOFILE, 64, 256, 1, "open files", "-n" },
	{ RLIMIT_AS, 16 << 20, 64 << 20, 1 << 10, "address space", "-v" },
	{ RLIMIT_DATA, 8 << 20, 64 << 20, 1 << 10, "private memory", "-d" },
	{ RLIMIT_FSIZE, 64 << 10, 1 << 20, 1 << 10, "the size of a file", "-f" },
};

int aj_caller_limits(struct aj_error *err)
{
	/* With SIGXFSZ ignored, RLIMIT_FSIZE yields EFBIG, which we can report. With SIGXCPU ignored, the soft RLIMIT_CPU, which
	 * this process may nearly have used up before its exec, does not end the watch over a jail. The hard limit still does. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGXCPU, SIG_IGN);
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
		struct rlimit now;
		__rlimit_resource_t resource = (__rlimit_resource_t)needs[i].resource;
		if (getrlimit(resource, &now) < 0 || now.rlim_cur >= needs[i].least)
			continue;
		rlim_t low = now.rlim_max;
		now.rlim_cur = now.rlim_max < needs[i].wanted ? now.rlim_max : needs[i].wanted;
		if (now.rlim_cur >= needs[i].least && setrlimit(resource, &now) == 0)
			continue;
		aj_fail(err, AJ_EXIT_SETUP, "limits", 0,
		        "the caller's limit on %s is %lu, and agentjail needs at least %lu to start a process", needs[i].name,
		        low / needs[i].unit, needs[i].least / needs[i].unit);
		aj_advise(err, "raise the limit: `ulimit %s` with at least %lu", needs[i].option, needs[i].least / needs[i].unit);
		return -1;
	}
	return 0;
}
