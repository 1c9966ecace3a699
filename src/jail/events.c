/* The events of a jail: which descriptors and deadlines are watched, and to which file of this folder each event goes.
 * It reads nothing itself and makes no verdict: a deadline that passes names a cause, and the rest is run.c's. */
#include "jail/run.h"

#include <stdio.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "jail/inner.h"
#include "jail/interrupt.h"

/* Where epoll does not take the jail's descriptors, its end is looked for at this interval: the jail was killed, so it comes soon. */
enum { LOOK_US = 2000 };

/* --- descriptors that are watched --- */

static void watch_fd(struct aj_run *run, enum aj_run_fd which, int fd, uint32_t events)
{
	if (fd < 0)
		aj_loop_unwatch(run->loop, &run->io[which]);
	else if (aj_loop_watch(run->loop, &run->io[which], fd, events) < 0) {
		run->blind = true;
		aj_run_fail(run, "the jail cannot be waited for");
	}
}

/* While the pump is full, the destination is watched and not the jail. */
static void watch_output(struct aj_run *run, enum aj_run_fd which, int fd)
{
	const struct aj_pump *pump = run->pump ? &run->pump[which == AJ_RUN_ERR] : NULL;
	if (pump && pump->bytes)
		watch_fd(run, which, pump->fd, EPOLLOUT);
	else if (aj_run_output_held(run, which == AJ_RUN_ERR ? 2 : 1))
		aj_run_unwatch(run, which);
	else
		watch_fd(run, which, fd, EPOLLIN);
}

static int64_t grace_over_us(const struct aj_run *run)
{
	return run->told_us && !run->stopping ? run->told_us + AJ_COMMAND_GRACE_S * 1000000LL : INT64_MAX;
}

static int64_t measure_us(const struct aj_run *run)
{
	return run->stopping || run->facts.exited ? INT64_MAX : aj_growth_due_us(run->growth);
}

static int64_t next_deadline_us(const struct aj_run *run)
{
	const int64_t look_us = run->blind ? aj_now_us() + LOOK_US : INT64_MAX;
	const int64_t due_us[] = { run->deadline_us, grace_over_us(run), aj_locks_deadline_us(&run->locks), measure_us(run), look_us };
	int64_t first_us = run->soft_us;
	for (size_t i = 0; i < sizeof due_us / sizeof *due_us; i++)
		first_us = due_us[i] < first_us ? due_us[i] : first_us;
	return first_us;
}

void aj_run_watch(struct aj_run *run)
{
	const struct aj_jail *jail = &run->jail;
	watch_fd(run, AJ_RUN_RELAY, run->relay.socket >= 0 ? run->relay.socket : run->relay.pidfd, EPOLLIN);
	if (run->exited)
		return;
	watch_fd(run, AJ_RUN_REPORT, jail->report_fd, EPOLLIN);
	watch_fd(run, AJ_RUN_CONTROL, aj_run_reads_control(run) ? jail->control_fd : -1,
	         aj_channel_writing(&run->channel) ? EPOLLIN | EPOLLOUT : EPOLLIN);
	watch_output(run, AJ_RUN_OUT, jail->stdout_fd);
	watch_output(run, AJ_RUN_ERR, jail->stderr_fd);
	watch_fd(run, AJ_RUN_LISTENER, run->listener_fd, EPOLLIN);
	watch_fd(run, AJ_RUN_CONNECTOR, run->mediator ? run->mediator->connector.socket : -1, EPOLLIN);
	watch_fd(run, AJ_RUN_PUBLISHER, run->publish ? run->publish->publisher.socket : -1, EPOLLIN);
	watch_fd(run, AJ_RUN_INIT, jail->init_pidfd, EPOLLIN);
	int64_t due_us = next_deadline_us(run);
	if (due_us == INT64_MAX)
		aj_loop_unset(run->loop, &run->timer);
	else if (!run->timer.place || run->timer.at_us != due_us)
		aj_loop_set(run->loop, &run->timer, due_us);
}

void aj_run_unwatch(struct aj_run *run, enum aj_run_fd which)
{
	aj_loop_unwatch(run->loop, &run->io[which]);
}

void aj_run_close(struct aj_run *run, enum aj_run_fd which, int *fd)
{
	aj_run_unwatch(run, which);
	aj_close(fd);
}

/* --- events --- */

static unsigned handle_ready(struct aj_run *run, enum aj_run_fd which, uint32_t events)
{
	unsigned found = 0;
	switch (which) {
	case AJ_RUN_REPORT:
		aj_run_on_report(run);
		break;
	case AJ_RUN_CONTROL:
		if (events & EPOLLOUT)
			aj_channel_write(&run->channel);
		if (events & ~EPOLLOUT && aj_run_reads_control(run))
			found = aj_run_on_control(run);
		break;
	case AJ_RUN_OUT:
	case AJ_RUN_ERR:
		aj_run_on_output(run, which == AJ_RUN_OUT ? 1 : 2);
		break;
	case AJ_RUN_LISTENER:
		aj_run_on_listener(run);
		break;
	case AJ_RUN_CONNECTOR:
		aj_run_on_connector(run);
		break;
	case AJ_RUN_RELAY:
		found = aj_run_on_relay(run);
		break;
	case AJ_RUN_PUBLISHER:
		aj_run_on_publisher(run);
		break;
	default:
		aj_run_on_exit(run);
		found = AJ_RUN_GONE;
	}
	if (run->channel.ended && run->jail.control_fd >= 0)
		aj_run_close(run, AJ_RUN_CONTROL, &run->jail.control_fd);
	return found;
}

static void handle_event(struct aj_run *run, enum aj_run_fd which, uint32_t events)
{
	unsigned found = handle_ready(run, which, events);
	aj_run_watch(run);
	if (found && run->on_event)
		run->on_event(run, found);
}

static void on_io(struct aj_io *io, uint32_t events)
{
	struct aj_run *run = io->arg;
	handle_event(run, (enum aj_run_fd)(io - run->io), events);
}

static void on_deadline(struct aj_run *run)
{
	run->deadline_us = INT64_MAX;
	if (run->stopping || run->facts.exited) {
		aj_jail_kill(&run->jail);
	} else if (run->channel.answered && !run->lasting) {
		/* With an answer the run is over anyway; the remaining processes do not change the result. */
		run->facts.lingered = true;
		aj_run_end(run);
	} else {
		aj_run_end_by(run, AJ_CAUSE_TIMEOUT);
	}
}

static void measure_workspace(struct aj_run *run)
{
	const char *why = aj_growth_turn(run->growth);
	if (!why)
		return;
	snprintf(run->facts.workspace_why, sizeof run->facts.workspace_why, "%s", why);
	aj_run_end_by(run, AJ_CAUSE_WORKSPACE);
}

static void on_timer(struct aj_timer *timer)
{
	struct aj_run *run = timer->arg;
	int64_t now_us = aj_now_us();
	if (aj_locks_due(&run->locks, run->listener_fd))
		aj_run_cheated(run);
	if (now_us >= run->soft_us)
		aj_interrupt_due(run);
	if (now_us >= run->deadline_us)
		on_deadline(run);
	if (now_us >= measure_us(run))
		measure_workspace(run);
	if (now_us >= grace_over_us(run)) {
		run->told_us = 0;
		aj_run_end_by(run, AJ_CAUSE_INTERRUPT);
	}
	if (run->blind && aj_pidfd_ended(run->jail.init_pidfd))
		handle_event(run, AJ_RUN_INIT, EPOLLIN);
	else
		aj_run_watch(run);
}

void aj_run_events_init(struct aj_run *run)
{
	run->timer = (struct aj_timer){ .fn = on_timer, .arg = run };
	for (int i = 0; i < AJ_RUN_FDS; i++)
		run->io[i] = (struct aj_io){ .fn = on_io, .arg = run, .fd = -1, .quota = run->lasting && i != AJ_RUN_INIT ? &run->quota : NULL };
}
