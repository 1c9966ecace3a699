/* Interrupts a snippet: on request, or at its limit of time.
 * Ends nothing: a snippet that ignores the interrupt meets the wall clock, which is jail/events.c's. */
#include "jail/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "base/procfs.h"

void aj_interrupt_clocks(const struct aj_plan *plan, uint64_t timeout_ms, int64_t *ret_soft_us, int64_t *ret_wall_us)
{
	int64_t wall_us = plan->wall_ms ? aj_us_of_ms(plan->wall_ms) : INT64_MAX;
	int64_t timeout_us = timeout_ms ? aj_us_of_ms(timeout_ms) : INT64_MAX;
	int64_t limit_us = timeout_us < wall_us ? timeout_us : wall_us;
	*ret_soft_us = plan->snippet ? limit_us : INT64_MAX;
	*ret_wall_us = plan->snippet && limit_us < INT64_MAX - AJ_SNIPPET_GRACE_MS * 1000LL ? limit_us + AJ_SNIPPET_GRACE_MS * 1000LL
	                                                                                    : limit_us;
}

/* Signals the runner itself: by way of init the signal might reach the next snippet. Before the code has started nothing would handle
 * it, so aj_interrupt_started() sends it then. */
static void signal_runner(struct aj_run *run)
{
	struct aj_process_info info;
	int signal = run->facts.stop == AJ_STOP_BY_CLOCK ? SIGUSR1 : SIGINT;
	if (!run->channel.started || run->channel.answered)
		return;
	cleanup_fd int pidfd = run->jail.branch ? -1 : aj_procfs_open_child(run->channel.runner, run->jail.init_pid, &info);
	aj_pidfd_signal(pidfd >= 0 ? pidfd : run->jail.init_pidfd, signal);
	run->facts.told = true;
}

void aj_interrupt_started(struct aj_run *run)
{
	if (run->running && run->facts.stop != AJ_STOP_NONE)
		signal_runner(run);
}

void aj_interrupt_send(struct aj_run *run)
{
	if (!run->running || run->stopping || run->facts.stop == AJ_STOP_BY_CLOCK)
		return;
	run->facts.stop = AJ_STOP_BY_CALLER;
	signal_runner(run);
}

void aj_interrupt_due(struct aj_run *run)
{
	run->soft_us = INT64_MAX;
	if (run->channel.answered) /* and is about to exit */
		return;
	if (run->facts.stop == AJ_STOP_NONE)
		run->facts.stop = AJ_STOP_BY_CLOCK;
	signal_runner(run);
	/* The thread may be late by more than that time, as a program that embeds the library and was busy elsewhere. */
	int64_t killed_us = aj_now_us() + AJ_SNIPPET_GRACE_MS * 1000LL;
	if (run->deadline_us < killed_us)
		run->deadline_us = killed_us;
}
