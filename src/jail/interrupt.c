/* Interrupts a snippet: on request, or at its time limit.
 * Ends nothing: a snippet that ignores the interrupt is ended by end_by_wall_clock() of jail/events.c. */
#include "jail/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "base/procfs.h"

/* Signals the runner directly: through init the signal might reach the next snippet. Before the code has started nothing would
 * handle it, so aj_interrupt_started() sends it then. */
static void signal_runner(struct aj_jail *jail)
{
	struct aj_process_info info;
	int signal = jail->outcome.facts.stop == AJ_STOP_BY_CLOCK ? SIGUSR1 : SIGINT;
	if (!jail->channel.started || jail->channel.answered)
		return;
	const struct aj_process *process = &jail->process;
	cleanup_fd int pidfd = process->branch ? -1 : aj_procfs_open_child(jail->channel.runner, process->init_pid, &info);
	aj_pidfd_signal(pidfd >= 0 ? pidfd : process->init_pidfd, signal);
	jail->outcome.facts.interrupt_sent = true;
}

void aj_interrupt_started(struct aj_jail *jail)
{
	if (jail->running && jail->outcome.facts.stop != AJ_STOP_NONE)
		signal_runner(jail);
}

void aj_interrupt_send(struct aj_jail *jail)
{
	if (!jail->running || jail->stopping || jail->outcome.facts.stop == AJ_STOP_BY_CLOCK)
		return;
	jail->outcome.facts.stop = AJ_STOP_BY_CALLER;
	signal_runner(jail);
}

void aj_interrupt_due(struct aj_jail *jail)
{
	jail->deadlines.soft_us = INT64_MAX;
	if (jail->channel.answered) /* and is about to exit */
		return;
	if (jail->outcome.facts.stop == AJ_STOP_NONE)
		jail->outcome.facts.stop = AJ_STOP_BY_CLOCK;
	signal_runner(jail);
	/* The thread may be late by more than that time, as a program that embeds the library and was busy elsewhere. */
	int64_t killed_us = aj_now_us() + AJ_SNIPPET_GRACE_MS * 1000LL;
	if (jail->deadlines.kill_us < killed_us)
		jail->deadlines.kill_us = killed_us;
}
