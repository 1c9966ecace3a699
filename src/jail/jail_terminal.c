/* A jail's terminal as its run sees it: starts the relay, stops and continues jail and supervisor together, and pauses the jail's
 * output to a terminal while a question is shown. A jail can stop its supervisor only after a person has typed at it. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "jail/jail_inner.h"
#include "jail/pty/terminal_relay.h"
#include "sandbox/handshake.h"

static void on_output(void *arg, const char *data, size_t bytes)
{
	struct aj_jail *jail = arg;
	aj_output_buffer_add(&jail->outcome.passed_on, data, bytes);
}

static void on_hang_up(void *arg)
{
	aj_jail_signal(arg, SIGHUP);
}

static void on_flushed(void *arg)
{
	aj_jail_check_flushed(arg);
}

void aj_jail_on_terminal(struct aj_jail *jail, struct aj_passed *passed)
{
	static const struct aj_msg taken = { .kind = AJ_MSG_TAKEN };
	if (!jail->terminal.pty || passed->count != 1 || aj_pty_start(jail->terminal.pty, aj_steal(&passed->fds[0])) < 0) {
		aj_jail_fail(jail, "the jail's terminal cannot be relayed");
		return;
	}
	jail->terminal.pty->on_output = on_output;
	jail->terminal.pty->on_hang_up = on_hang_up;
	jail->terminal.pty->on_flushed = on_flushed;
	jail->terminal.pty->arg = jail;
	if (aj_msg_send(jail->process.report_fd, &taken) < 0 && errno != EPIPE && errno != ECONNRESET)
		aj_jail_fail(jail, "init cannot be answered");
}

/* Every process of the jail stands still meanwhile, and so do its deadlines. */
static void add_pause(int64_t *deadline_us, int64_t pause_us)
{
	if (*deadline_us != INT64_MAX && *deadline_us)
		*deadline_us += pause_us;
}

void aj_jail_on_stopped(struct aj_jail *jail, int wait_status)
{
	int signal = WIFSTOPPED(wait_status) ? WSTOPSIG(wait_status) : 0;
	if (!jail->terminal.pty || jail->stopping)
		return;
	if (signal == SIGTTIN || signal == SIGTTOU) {
		aj_pty_want(jail->terminal.pty);
		return;
	}
	/* Each stop costs a person one key at least. */
	if (jail->terminal.suspending || jail->terminal.pty->typed) {
		int64_t pause_us = aj_pty_suspend(jail->terminal.pty, !jail->terminal.suspending);
		add_pause(&jail->deadlines.kill_us, pause_us);
		add_pause(&jail->deadlines.terminating_since_us, pause_us);
	}
	jail->terminal.suspending = false;
	aj_pidfd_signal(jail->process.init_pidfd, SIGCONT);
}

void aj_jail_terminal_signal(struct aj_jail *jail, int signal)
{
	if (signal != SIGTSTP) {
		aj_pty_refresh(jail->terminal.pty);
	} else if (jail->terminal.pty->master >= 0) { /* before there is a guest, no process could stop with us */
		jail->terminal.suspending = true;
		aj_pidfd_signal(jail->process.init_pidfd, SIGTSTP);
	}
}

void aj_jail_pause_output(void *arg, bool paused)
{
	struct aj_jail *jail = arg;
	jail->terminal.paused = paused;
	for (int i = 0; jail->terminal.pump && i < 2; i++)
		aj_pump_pause(&jail->terminal.pump[i], paused);
	if (jail->terminal.pty)
		aj_pty_pause(jail->terminal.pty, paused);
	aj_jail_watch(jail);
	aj_jail_check_flushed(jail);
}

void aj_jail_check_flushed(struct aj_jail *jail)
{
	bool flushed = jail->terminal.paused && (!jail->terminal.pty || aj_pty_is_flushed(jail->terminal.pty));
	for (int i = 0; jail->terminal.pump && i < 2; i++)
		flushed = flushed && aj_pump_is_flushed(&jail->terminal.pump[i]);
	if (flushed)
		aj_asker_flushed(jail->network.asker);
}
