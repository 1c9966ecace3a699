/* Runs a shell command of the host's. */
#include "network/helper/host_command.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/prctl.h"

enum { PARENT_ENDED = SIGUSR1 };
enum { EXIT_BROKEN = 126, EXIT_NO_SHELL = 127 };

static const char system_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

_Noreturn static void become_shell(const struct aj_host_command *c)
{
	sigset_t none;
	sigemptyset(&none);
	if (c->of_system && (chdir("/") < 0 || setenv("PATH", system_path, 1) < 0))
		_exit(EXIT_BROKEN);
	if ((c->in >= 0 && dup2(c->in, 0) < 0) || dup2(c->out, 1) < 0)
		_exit(EXIT_BROKEN);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execl("/bin/sh", "sh", "-c", c->text, (char *)NULL);
	_exit(EXIT_NO_SHELL);
}

/* Kills the group when the supervisor has ended, however it did; the caller may do so before. */
_Noreturn static void lead_group(const struct aj_host_command *c)
{
	sigset_t ended;
	int sig;
	sigemptyset(&ended);
	sigaddset(&ended, PARENT_ENDED);
	pid_t pid = aj_fork();
	if (pid == 0)
		become_shell(c);
	/* The end of the output is the command's. */
	close(c->in);
	close(c->out);
	if (pid > 0)
		sigwait(&ended, &sig);
	kill(0, SIGKILL);
	_exit(EXIT_BROKEN);
}

pid_t aj_host_command_start(const struct aj_host_command *command)
{
	const int keep[] = { command->in, command->out };
	sigset_t all;
	pid_t us = getpid(), pid = aj_fork();
	if (pid > 0)
		setpgid(pid, pid); /* in both processes: either may run first */
	if (pid != 0)
		return pid;
	/* Blocked until the shell begins: the parent's end must not kill the leader before the group. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	setpgid(0, 0);
	if (aj_prctl_die_with_parent(us, command->whole_group ? PARENT_ENDED : SIGKILL) < 0 ||
	    aj_fd_close_others(3, keep, sizeof keep / sizeof *keep) < 0)
		_exit(EXIT_BROKEN);
	if (command->whole_group)
		lead_group(command);
	become_shell(command);
}
