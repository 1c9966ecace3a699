/* A jail's terminal as its run sees it: the relay is started, stops and continues of jail and supervisor go together, and all ways from the
 * jail to a terminal are held while a question is at the caller's.
 * It moves no bytes, and lets a jail stop its supervisor only after a person has typed at it. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "jail/inner.h"
#include "jail/pty/relay.h"
#include "sandbox/handshake.h"

static void on_hang_up(void *arg)
{
	aj_run_signal(arg, SIGHUP);
}

static void on_still(void *arg)
{
	aj_run_still(arg);
}

void aj_run_on_terminal(struct aj_run *run, struct aj_passed *passed)
{
	static const struct aj_msg taken = { .kind = AJ_MSG_TAKEN };
	if (!run->pty || passed->count != 1 || aj_pty_start(run->pty, aj_steal(&passed->fds[0])) < 0) {
		aj_run_fail(run, "the jail's terminal cannot be relayed");
		return;
	}
	run->pty->on_hang_up = on_hang_up;
	run->pty->on_still = on_still;
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

void aj_run_hold(void *arg, bool held)
{
	struct aj_run *run = arg;
	run->held = held;
	for (int i = 0; run->pump && i < 2; i++)
		aj_pump_hold(&run->pump[i], held);
	if (run->pty)
		aj_pty_hold(run->pty, held);
	aj_run_watch(run);
	aj_run_still(run);
}

void aj_run_still(struct aj_run *run)
{
	bool still = run->held && (!run->pty || aj_pty_is_still(run->pty));
	for (int i = 0; run->pump && i < 2; i++)
		still = still && aj_pump_is_still(&run->pump[i]);
	if (still)
		aj_asker_still(run->asker);
}
