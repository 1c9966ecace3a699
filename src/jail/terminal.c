/* A jail's terminal as its run sees it: the relay is started, and stops and continues of jail and supervisor go together.
 * It moves no bytes, and lets no jail stop its supervisor at which nobody has typed. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "jail/inner.h"
#include "pty/relay.h"
#include "sandbox/handshake.h"

static void on_hang_up(void *arg)
{
	aj_run_signal(arg, SIGHUP);
}

void aj_run_on_terminal(struct aj_run *run, struct aj_passed *passed)
{
	static const struct aj_msg taken = { .kind = AJ_MSG_TAKEN };
	if (!run->pty || passed->count != 1 || aj_pty_start(run->pty, aj_steal(&passed->fds[0])) < 0) {
		aj_run_fail(run, "the jail's terminal cannot be relayed");
		return;
	}
	run->pty->on_hang_up = on_hang_up;
	run->pty->arg = run;
	if (aj_msg_send(run->jail.report_fd, &taken) < 0 && errno != EPIPE && errno != ECONNRESET)
		aj_run_fail(run, "init cannot be answered");
}

/* Every process of the jail stands still meanwhile, and so do its deadlines. */
static void add_pause(int64_t *deadline_us, int64_t pause_us)
{
	if (*deadline_us != INT64_MAX && *deadline_us)
		*deadline_us += pause_us;
}

void aj_run_on_stopped(struct aj_run *run, int wait_status)
{
	int signal = WIFSTOPPED(wait_status) ? WSTOPSIG(wait_status) : 0;
	if (!run->pty || run->stopping)
		return;
	if (signal == SIGTTIN || signal == SIGTTOU) {
		aj_pty_want(run->pty);
		return;
	}
	/* Each stop costs a person one key at least. */
	if (run->suspending || run->pty->typed) {
		int64_t pause_us = aj_pty_suspend(run->pty, !run->suspending);
		add_pause(&run->deadline_us, pause_us);
		add_pause(&run->told_us, pause_us);
	}
	run->suspending = false;
	aj_pidfd_signal(run->jail.init_pidfd, SIGCONT);
}

void aj_run_terminal_signal(struct aj_run *run, int signal)
{
	if (signal != SIGTSTP) {
		aj_pty_refresh(run->pty);
	} else if (run->pty->master >= 0) { /* before there is a guest, no process could stop with us */
		run->suspending = true;
		aj_pidfd_signal(run->jail.init_pidfd, SIGTSTP);
	}
}
