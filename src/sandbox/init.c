/* PID 1 of the jail: reaps, forwards signals that come from outside, reports how the guest ended.
 * It accepts no order from inside: it drops signals of the guest's own processes, and reads no data at all.
 *
 * A jail born from a zygote has an init that shares the zygote's memory, libc's errno included: everything from aj_init_run() on
 * uses system calls without libc. */
#include "sandbox/init.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/syscall.h"
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
		signal(sig, SIG_DFL); /* signals that the caller ignored are not ignored in the guest */
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Is the mount of this row still the topmost one, and out of blocks or inodes? */
static bool is_full(const struct aj_plan *plan, size_t row)
{
	struct statfs fs = { 0 };
	const char *target = plan->mounts.items[row].target;
	for (size_t i = row + 1; i < plan->mounts.count; i++)
		if (strcmp(plan->mounts.items[i].target, target) == 0)
			return false;
	return aj_syscall_raw(SYS_statfs, (long)target, (long)&fs, 0, 0, 0, 0) == 0 &&
	       ((fs.f_blocks && !fs.f_bavail) || (fs.f_files && !fs.f_ffree));
}

/* Init measures the guest's scratch space itself: the guest's word would be a claim. */
static void note_full(struct aj_msg *msg, const struct aj_plan *plan)
{
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		if (aj_mount_is_scratch(m) && strlen(m->target) < sizeof msg->step && is_full(plan, i)) {
			strcpy(msg->step, m->target);
			return;
		}
	}
}

_Noreturn static void exit_init(int code)
{
	for (;;)
		aj_syscall_raw(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

static bool send_exited(int report_fd, int wait_status, pid_t pid, bool first, const struct aj_plan *plan)
{
	struct aj_msg msg = { .kind = AJ_MSG_EXITED, .wait_status = wait_status, .pid = pid };
	long sent;
	if (first) /* a branch has scratch space of its own */
		note_full(&msg, plan);
	do
		sent = aj_syscall_raw(SYS_sendto, report_fd, (long)&msg, sizeof msg, MSG_NOSIGNAL, 0, 0);
	while (sent == -EINTR);
	return sent == (long)sizeof msg;
}

_Noreturn static void report_and_exit(int report_fd, int wait_status, pid_t guest, const struct aj_plan *plan)
{
	exit_init(send_exited(report_fd, wait_status, guest, true, plan) ? 0 : AJ_EXIT_SETUP);
}

static long wait_for_any(int *status, int options)
{
	return aj_syscall_raw(SYS_wait4, -1, (long)status, options, 0, 0, 0);
}

_Noreturn static void end_all(int report_fd, pid_t guest, const struct aj_plan *plan)
{
	int status = 0, guest_status = SIGKILL;
	long pid;
	aj_syscall_raw(SYS_kill, -1, SIGKILL, 0, 0, 0, 0);
	while ((pid = wait_for_any(&status, 0)) > 0)
		if (pid == guest)
			guest_status = status;
		else if (plan->branching)
			send_exited(report_fd, status, (pid_t)pid, false, plan);
	report_and_exit(report_fd, guest_status, guest, plan);
}

static long signal_all(pid_t which, int sig)
{
	return aj_syscall_raw(SYS_kill, which, sig, 0, 0, 0, 0);
}

static pid_t group_of(pid_t pid)
{
	long group = aj_syscall_raw(SYS_getpgid, pid, 0, 0, 0, 0, 0);
	return group > 1 ? (pid_t)group : pid;
}

/* The guest has stopped, and we act as its shell. A guest that wants its terminal gets that terminal's foreground, and continues.
 * Else the supervisor stops with it: then every process of the jail does, as no limit of time is watched meanwhile. */
static void on_stop(int report_fd, int terminal, pid_t guest, int status, bool *asked)
{
	struct aj_msg msg = { .kind = AJ_MSG_STOPPED, .wait_status = status };
	bool wants = WSTOPSIG(status) == SIGTTIN || WSTOPSIG(status) == SIGTTOU;
	int group = group_of(guest);
	if (wants) {
		aj_syscall_raw(SYS_ioctl, terminal, TIOCSPGRP, (long)&group, 0, 0, 0);
		signal_all(-group, SIGCONT);
	} else {
		signal_all(-1, SIGSTOP);
	}
	if (!wants || !*asked)
		aj_syscall_raw(SYS_sendto, report_fd, (long)&msg, sizeof msg, MSG_NOSIGNAL, 0, 0);
	*asked |= wants;
}

/* A signal of the supervisor's that is for the guest, or of its terminal. */
static void forward(int terminal, pid_t guest, int sig)
{
	int group = 0;
	if (terminal < 0) {
		signal_all(guest, sig);
	} else if (sig == SIGTSTP) {
		signal_all(-1, SIGSTOP);
	} else if (sig == SIGCONT) {
		signal_all(-1, SIGCONT);
		if (aj_syscall_raw(SYS_ioctl, terminal, TIOCGPGRP, (long)&group, 0, 0, 0) == 0 && group > 1)
			signal_all(-group, SIGWINCH); /* what is on the screen is drawn anew */
	} else {
		signal_all(sig == SIGHUP ? -group_of(guest) : guest, sig);
	}
}

/* Senders outside the jail's PID namespace have pid 0 in it. A terminal that hangs up sends SIGHUP only to the session's leader,
 * which passes it on as a shell does; a SIGHUP of the supervisor's that comes while this one is pending is lost in it. */
static bool is_for_guest(int sig, const siginfo_t *info)
{
	return (info->si_code == SI_USER && info->si_pid == 0) || (info->si_code == SI_KERNEL && sig == SIGHUP);
}

_Noreturn void aj_init_run(int report_fd, int terminal, pid_t guest, const struct aj_plan *plan)
{
	const unsigned long all = ~0UL; /* a sigset_t of the kernel's ABI */
	bool asked = false;             /* the supervisor knows that the guest wants its terminal */
	for (;;) {
		int status = 0;
		long pid;
		while ((pid = wait_for_any(&status, WNOHANG | WUNTRACED)) > 0) {
			bool stopped = WIFSTOPPED(status);
			if (stopped && pid == guest && terminal >= 0)
				on_stop(report_fd, terminal, guest, status, &asked);
			/* Without a terminal no process could continue a command that SIGTSTP stopped. A command that stopped
			 * itself stays stopped. */
			else if (stopped && WSTOPSIG(status) == SIGTSTP && terminal < 0)
				signal_all((pid_t)pid, SIGCONT);
			/* A branch of the guest is also a child of init, and may outlive the guest. */
			if (plan->branching && !stopped && !send_exited(report_fd, status, (pid_t)pid, pid == guest, plan))
				exit_init(AJ_EXIT_SETUP);
			if (pid == guest && !stopped && !plan->branching)
				report_and_exit(report_fd, status, guest, plan);
		}
		if (pid == -EINTR)
			continue;
		if (pid == -ECHILD) /* another process reaped the guest: its wait status is lost, and no signal will come */
			exit_init(plan->branching ? 0 : AJ_EXIT_SETUP);
		siginfo_t info = { 0 };
		long sig = aj_syscall_raw(SYS_rt_sigtimedwait, (long)&all, (long)&info, 0, sizeof all, 0, 0);
		if (sig <= 0 || sig == SIGCHLD || !is_for_guest((int)sig, &info))
			continue;
		if (sig == AJ_SIGNAL_END)
			end_all(report_fd, guest, plan);
		forward(terminal, guest, (int)sig);
	}
}
