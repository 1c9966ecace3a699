/* Tells a snippet of a jail that goes on to stop: when somebody asks for it, or when its time is over.
 * It ends nothing itself: who does not heed it meets the wall clock, which is live.c's. */
#include "jail/interrupt.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/procfs.h"

/* A snippet that was told to stop has this long to do so; a quarter of its time where that is less. */
enum { SOFT_US = 1000000 };

void aj_interrupt_clocks(const struct aj_plan *plan, bool lasting, uint64_t timeout_ms, int64_t *ret_soft_us, int64_t *ret_wall_us)
{
	int64_t wall_us = plan->wall_ms ? aj_us_of_ms(plan->wall_ms) : INT64_MAX;
	int64_t timeout_us = timeout_ms ? aj_us_of_ms(timeout_ms) : INT64_MAX;
	*ret_soft_us = INT64_MAX;
	*ret_wall_us = !lasting && timeout_us < wall_us ? timeout_us : wall_us;
	if (!lasting || (timeout_us == INT64_MAX && wall_us == INT64_MAX))
		return;
	int64_t grace_us = wall_us / 4 < SOFT_US ? wall_us / 4 : SOFT_US, latest_us = wall_us - grace_us;
	*ret_soft_us = timeout_us < latest_us ? timeout_us : latest_us;
	*ret_wall_us = *ret_soft_us < wall_us - SOFT_US ? *ret_soft_us + SOFT_US : wall_us;
}

/* To the runner itself: by way of init it might come when the next snippet is there already. Before the code has started nobody in there
 * would heed it, so it is sent then. */
static void tell(const struct aj_run *l)
{
	struct aj_process_info who;
	int signal = l->facts.told == AJ_STOP_BY_CLOCK ? SIGUSR1 : SIGINT;
	if (!l->channel.started || l->channel.answered)
		return;
	cleanup_fd int pidfd = l->jail.branch ? -1 : aj_procfs_open_child(l->channel.runner, l->jail.init_pid, &who);
	syscall(SYS_pidfd_send_signal, pidfd >= 0 ? pidfd : l->jail.init_pidfd, signal, NULL, 0);
}

void aj_interrupt_started(const struct aj_run *l)
{
	if (l->running && l->facts.told != AJ_NOT_TOLD)
		tell(l);
}

void aj_interrupt_send(struct aj_run *l)
{
	if (!l->running || l->stopping || l->facts.told == AJ_STOP_BY_CLOCK)
		return;
	l->facts.told = AJ_STOP_BY_CALLER;
	tell(l);
}

void aj_interrupt_due(struct aj_run *l)
{
	l->soft_us = INT64_MAX;
	if (l->facts.told == AJ_NOT_TOLD)
		l->facts.told = AJ_STOP_BY_CLOCK;
	l->facts.soft_ms = l->soft_ms;
	tell(l);
}
