/* Runs the caller's pager: $GIT_PAGER, core.pager, $PAGER or less, as `git var GIT_PAGER` says. git is asked outside of every
 * repository, since the configuration of one may be another user's, or an earlier jail's. */
#include "cli/terminal/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/program.h"
#include "base/spawn.h"

extern char **environ;

static const int keyboard[] = { SIGINT, SIGQUIT, SIGPIPE };
enum { SIGNALS = sizeof keyboard / sizeof *keyboard, COMMAND_BYTES = 4096 };

static int start(pid_t *ret, const char *const words[], int in, int out, bool quiet)
{
	const struct aj_spawn_fd fds[] = { { 0, in }, { 1, out }, { 2, quiet ? -1 : 2 } };
	char program[PATH_MAX];
	if (!aj_program_find(words[0], program, sizeof program))
		return ENOENT;
	return aj_spawn(ret, program, (char *const *)(uintptr_t)words, environ, fds, sizeof fds / sizeof *fds);
}

static int wait_for(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool ask_git(char command[COMMAND_BYTES])
{
	static const char *const words[] = { "git", "-C", "/", "var", "GIT_PAGER", NULL };
	int ends[2];
	size_t used = 0;
	ssize_t n;
	pid_t pid;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	bool started = start(&pid, words, -1, ends[1], true) == 0;
	aj_close(&ends[1]);
	while (started && used + 1 < COMMAND_BYTES && (n = read(ends[0], command + used, COMMAND_BYTES - 1 - used)) != 0)
		if (n > 0)
			used += (size_t)n;
		else if (errno != EINTR)
			break;
	aj_close(&ends[0]);
	command[used] = '\0';
	command[strcspn(command, "\n")] = '\0';
	return started && wait_for(pid) == 0;
}

/* False: the text goes to the terminal itself. */
static bool find_command(char command[COMMAND_BYTES])
{
	char program[PATH_MAX];
	if (!ask_git(command)) {
		const char *own = getenv("GIT_PAGER"), *any = getenv("PAGER");
		snprintf(command, COMMAND_BYTES, "%s", own ? own : any ? any : "less");
	}
	/* A shell would find out too late that there is no such program. */
	bool plain = !command[strcspn(command, " \t|&;<>()$`\\\"'*?[#~=%")];
	return *command && strcmp(command, "cat") != 0 && (!plain || aj_program_find(command, program, sizeof program));
}

void aj_pager_begin(struct aj_pager *p)
{
	char command[COMMAND_BYTES];
	int ends[2];
	*p = (struct aj_pager){ .output = -1 };
	fflush(stdout);
	if (!isatty(STDOUT_FILENO) || !find_command(command) || pipe2(ends, O_CLOEXEC) < 0)
		return;
	/* As git sets them: less ends at once where one screen holds all, and shows colours. */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	const char *const words[] = { "sh", "-c", command, NULL };
	p->output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	if (p->output < 0 || start(&p->pid, words, ends[0], STDOUT_FILENO, false) != 0)
		p->pid = 0;
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	for (int i = 0; i < SIGNALS && p->pid; i++)
		sigaction(keyboard[i], &ignore, &p->signals[i]);
	if (p->pid)
		dup2(ends[1], STDOUT_FILENO);
	aj_close(&ends[0]);
	aj_close(&ends[1]);
}

void aj_pager_end(struct aj_pager *p)
{
	fflush(stdout);
	if (p->pid) {
		dup2(p->output, STDOUT_FILENO); /* which ends the pager's input */
		wait_for(p->pid);
		clearerr(stdout);
		for (int i = 0; i < SIGNALS; i++)
			sigaction(keyboard[i], &p->signals[i], NULL);
	}
	aj_close(&p->output);
	p->pid = 0;
}
