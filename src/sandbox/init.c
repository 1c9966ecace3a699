/* PID 1 of the jail: reaps, forwards signals that come from outside, reports how the guest ended.
 * It takes no order from inside: signals of the guest's own processes are dropped, and it reads no data at all. */
#include "sandbox/init.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/handshake.h"

int aj_init_block_signals(void)
{
	sigset_t all;
	sigfillset(&all);
	return sigprocmask(SIG_SETMASK, &all, NULL);
}

int aj_init_unblock_signals(void)
{
	sigset_t none;
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL); /* what the caller ignored is not the guest's business */
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Is the mount of this row still the one on top, and has it neither blocks nor files left? */
static bool is_full(const struct aj_plan *plan, size_t row)
{
	struct statvfs fs;
	const char *target = plan->mounts.items[row].target;
	for (size_t i = row + 1; i < plan->mounts.count; i++)
		if (strcmp(plan->mounts.items[i].target, target) == 0)
			return false;
	return statvfs(target, &fs) == 0 && ((fs.f_blocks && !fs.f_bavail) || (fs.f_files && !fs.f_favail));
}

/* The guest's scratch space is looked at from here: what the guest says of it would be a claim. */
static void note_full(struct aj_msg *msg, const struct aj_plan *plan)
{
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		if (m->kind == AJ_MOUNT_TMPFS && !(m->flags & AJ_RO) && strlen(m->target) < sizeof msg->step && is_full(plan, i)) {
			strcpy(msg->step, m->target);
			return;
		}
	}
}

_Noreturn static void report(int report_fd, int wait_status, const struct aj_plan *plan)
{
	struct aj_msg msg = { .kind = AJ_MSG_EXITED, .wait_status = wait_status };
	note_full(&msg, plan);
	_exit(aj_msg_send(report_fd, &msg) < 0 ? AJ_EXIT_SETUP : 0);
}

_Noreturn static void end_all(int report_fd, pid_t guest, const struct aj_plan *plan)
{
	int status, guest_status = SIGKILL;
	pid_t pid;
	kill(-1, SIGKILL);
	while ((pid = waitpid(-1, &status, 0)) > 0)
		if (pid == guest)
			guest_status = status;
	report(report_fd, guest_status, plan);
}

_Noreturn void aj_init_run(int report_fd, pid_t guest, const struct aj_plan *plan)
{
	sigset_t all;
	sigfillset(&all);
	for (;;) {
		int status;
		pid_t pid;
		while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
			bool stopped = WIFSTOPPED(status);
			/* Nobody here could continue a command that Ctrl-Z stopped. A stop that it asked for itself stays. */
			if (stopped && WSTOPSIG(status) == SIGTSTP)
				kill(pid, SIGCONT);
			if (pid == guest && !stopped)
				report(report_fd, status, plan);
		}
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0 && errno == ECHILD) /* somebody reaped the guest, and how it ended is lost: no signal will tell of it */
			_exit(AJ_EXIT_SETUP);
		siginfo_t info;
		int sig = sigwaitinfo(&all, &info);
		/* Senders outside our PID namespace have no number in it. */
		if (sig <= 0 || sig == SIGCHLD || info.si_code != SI_USER || info.si_pid != 0)
			continue;
		if (sig == AJ_SIGNAL_END)
			end_all(report_fd, guest, plan);
		kill(guest, sig);
	}
}
