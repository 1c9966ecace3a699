/* Runs a program of the host, and passes on to it the signals that are to end us.
 * They are blocked and waited for, so that none is lost between a check and a wait. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include "base/program.h"
#include "base/spawn.h"
#include "cli/env/envcmd.h"

extern char **environ;

static sigset_t noted;
static int interrupted;

void aj_env_note_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction now;
	sigemptyset(&noted);
	sigaddset(&noted, SIGCHLD);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&noted, ends[i]);
	sigprocmask(SIG_BLOCK, &noted, NULL);
}

int aj_env_interrupted(void)
{
	sigset_t pending;
	sigpending(&pending);
	for (int i = 1; !interrupted && i < NSIG; i++)
		if (i != SIGCHLD && sigismember(&noted, i) == 1 && sigismember(&pending, i) == 1)
			interrupted = i;
	return interrupted;
}

int aj_env_run(const char *const words[], int out, int errors)
{
	char program[PATH_MAX];
	const struct aj_spawn_fd fds[] = { { 0, -1 }, { 1, out }, { 2, errors } };
	pid_t pid, ended;
	int status;
	if (!aj_program_find(words[0], program, sizeof program)) {
		errno = ENOENT;
		return -1;
	}
	if (aj_env_interrupted()) {
		errno = EINTR;
		return -1;
	}
	int why = aj_spawn(&pid, program, (char *const *)(uintptr_t)words, environ, fds, sizeof fds / sizeof *fds);
	if (why) {
		errno = why;
		return -1;
	}
	while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
		int came = sigwaitinfo(&noted, NULL);
		if (came > 0 && came != SIGCHLD) {
			interrupted = interrupted ? interrupted : came;
			kill(pid, came);
		}
	}
	return ended < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
