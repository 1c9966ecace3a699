/* Moves this process to a systemd scope with agentjail-scope, the only program that we start outside of a jail.
 * It looks for that helper beside our program only, waits no longer than LIMIT_US, and talks to no bus itself. */
#include "cli/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/spawn.h"
#include "policy/host/paths.h"
#include "policy/plan/plan.h"

enum { LIMIT_US = 5000000 };

/* Start the helper with /dev/null as stdin and our pipe as stdout and stderr. Returns 0 or an errno. */
static int spawn_helper(const char *program, int out, pid_t *ret_pid, struct aj_arena *arena)
{
	extern char **environ;
	char *argv[] = { aj_strdup(arena, program), aj_printf(arena, "%d", getpid()), NULL };
	const struct aj_spawn_fd fds[] = { { 0, -1 }, { 1, out }, { 2, out } };
	return aj_spawn(ret_pid, program, argv, environ, fds, sizeof fds / sizeof *fds);
}

/* Read the helper's output until end of file; false at the deadline. */
static bool read_until(int fd, int64_t until_us, char *out, size_t out_bytes)
{
	size_t have = 0;
	for (;;) {
		int64_t left_us = until_us - aj_now_us();
		struct pollfd p = { .fd = fd, .events = POLLIN };
		out[have] = '\0';
		if (left_us <= 0)
			return false;
		if (poll(&p, 1, (int)(left_us / 1000) + 1) <= 0)
			continue;
		char chunk[512];
		ssize_t n = read(fd, chunk, sizeof chunk);
		if (n <= 0)
			return n == 0 || errno != EINTR;
		size_t keep = have + (size_t)n < out_bytes ? (size_t)n : out_bytes - 1 - have;
		memcpy(out + have, chunk, keep);
		have += keep;
	}
}

const char *aj_scope_enter(struct aj_arena *arena)
{
	char answer[200];
	int ends[2], status = 0, errnum;
	pid_t pid;
	const char *program = aj_find_helper("agentjail-scope", arena);
	if (!program)
		return "the helper agentjail-scope is not beside the program (it is built where libsystemd's headers are: libsystemd-dev)";
	if (pipe2(ends, O_CLOEXEC) < 0)
		return aj_printf(arena, "create a pipe: %s", strerror(errno));
	cleanup_fd int from = ends[0], to = ends[1];
	if ((errnum = spawn_helper(program, to, &pid, arena)))
		return aj_printf(arena, "%s: %s", program, strerror(errnum));
	aj_close(&to);
	bool in_time = read_until(from, aj_now_us() + LIMIT_US, answer, sizeof answer);
	/* No answer in time: do not wait for the helper to exit by itself. */
	if (!in_time)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	answer[strcspn(answer, "\n")] = '\0';
	if (!in_time)
		return aj_printf(arena, "no answer within %d s", LIMIT_US / 1000000);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return NULL;
	return aj_printf(arena, "%s", *answer ? answer : "agentjail-scope failed without a message");
}

void aj_scope_when_demanded(struct aj_host *host, const struct aj_options *o)
{
	if (o->request.cgroup || !aj_plan_lacks_cgroup(&o->loaded.policy, host))
		return;
	const char *before = host->cgroup_why ? host->cgroup_why : "the cgroup lacks a controller",
		   *why = aj_scope_enter(o->arena);
	if (!why)
		aj_host_find_cgroup(host, o->arena, NULL, NULL);
	else
		host->cgroup_why = aj_printf(o->arena, "%s; and systemd created no scope: %s", before, why);
}
