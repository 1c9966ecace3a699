/* The events of a jail: which descriptors and deadlines are watched, and to which file of this folder each event goes.
 * It reads nothing itself and makes no verdict: a deadline that passes names a cause, and the rest is jail.c's. */
#include "jail/jail.h"

#include <stdio.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "jail/interrupt.h"
#include "jail/jail_inner.h"

/* Where epoll rejects the jail's descriptors, its end is polled at this interval: the jail was killed, so it comes soon. */
enum { POLL_US = 2000 };

/* --- descriptors that are watched --- */

static void watch_fd(struct aj_jail *jail, enum aj_jail_fd which, int fd, uint32_t events)
{
	if (fd < 0)
		aj_loop_unwatch(jail->loop, &jail->watch.io[which]);
	else if (aj_loop_watch(jail->loop, &jail->watch.io[which], fd, events) < 0) {
		jail->watch.epoll_failed = true;
		aj_jail_fail(jail, "the jail cannot be waited for");
	}
}

/* While the pump is full, the destination is watched and not the jail. */
static void watch_output(struct aj_jail *jail, enum aj_jail_fd which, int fd)
{
	const struct aj_pump *pump = jail->terminal.pump ? &jail->terminal.pump[which == AJ_JAIL_ERR] : NULL;
	if (pump && pump->bytes)
		watch_fd(jail, which, pump->fd, EPOLLOUT);
	else if (aj_jail_output_paused(jail, which == AJ_JAIL_ERR ? 2 : 1))
		aj_jail_unwatch(jail, which);
	else
		watch_fd(jail, which, fd, EPOLLIN);
}

static int64_t grace_over_us(const struct aj_jail *jail)
{
	return jail->deadlines.terminating_since_us && !jail->stopping
	         ? jail->deadlines.terminating_since_us + AJ_COMMAND_GRACE_S * 1000000LL
	         : INT64_MAX;
}

static int64_t measure_us(const struct aj_jail *jail)
{
	return jail->stopping || jail->outcome.facts.exited ? INT64_MAX : aj_growth_due_us(jail->workspace.growth);
}

static int64_t next_deadline_us(const struct aj_jail *jail)
{
	const int64_t poll_us = jail->watch.epoll_failed ? aj_now_us() + POLL_US : INT64_MAX;
	const int64_t due_us[] = { jail->deadlines.kill_us, grace_over_us(jail), aj_locks_deadline_us(&jail->calls.locks),
		                   measure_us(jail), poll_us };
	int64_t first_us = jail->deadlines.soft_us;
	for (size_t i = 0; i < sizeof due_us / sizeof *due_us; i++)
		first_us = due_us[i] < first_us ? due_us[i] : first_us;
	return first_us;
}

void aj_jail_watch(struct aj_jail *jail)
{
	const struct aj_process *process = &jail->process;
	const struct aj_helper *relay = &jail->network.relay;
	watch_fd(jail, AJ_JAIL_RELAY, relay->socket >= 0 ? relay->socket : relay->pidfd, EPOLLIN);
	if (jail->exited)
		return;
	watch_fd(jail, AJ_JAIL_REPORT, process->report_fd, EPOLLIN);
	watch_fd(jail, AJ_JAIL_CONTROL, aj_jail_reads_control(jail) ? process->control_fd : -1,
	         aj_channel_writing(&jail->channel) ? EPOLLIN | EPOLLOUT : EPOLLIN);
	watch_output(jail, AJ_JAIL_OUT, process->stdout_fd);
	watch_output(jail, AJ_JAIL_ERR, process->stderr_fd);
	watch_fd(jail, AJ_JAIL_LISTENER, jail->calls.listener_fd, EPOLLIN);
	watch_fd(jail, AJ_JAIL_CONNECTOR, jail->calls.mediator ? jail->calls.mediator->connector.socket : -1, EPOLLIN);
	watch_fd(jail, AJ_JAIL_PUBLISHER, jail->network.publish ? jail->network.publish->publisher.socket : -1, EPOLLIN);
	watch_fd(jail, AJ_JAIL_INIT, process->init_pidfd, EPOLLIN);
	int64_t due_us = next_deadline_us(jail);
	if (due_us == INT64_MAX)
		aj_loop_unset(jail->loop, &jail->deadlines.timer);
	else if (!jail->deadlines.timer.place || jail->deadlines.timer.at_us != due_us)
		aj_loop_set(jail->loop, &jail->deadlines.timer, due_us);
}

void aj_jail_unwatch(struct aj_jail *jail, enum aj_jail_fd which)
{
	aj_loop_unwatch(jail->loop, &jail->watch.io[which]);
}

void aj_jail_close(struct aj_jail *jail, enum aj_jail_fd which, int *fd)
{
	aj_jail_unwatch(jail, which);
	aj_close(fd);
}

/* --- events --- */

static unsigned handle_ready(struct aj_jail *jail, enum aj_jail_fd which, uint32_t events)
{
	unsigned found = 0;
	switch (which) {
	case AJ_JAIL_REPORT:
		aj_jail_on_report(jail);
		break;
	case AJ_JAIL_CONTROL:
		if (events & EPOLLOUT)
			aj_channel_write(&jail->channel);
		if (events & ~EPOLLOUT && aj_jail_reads_control(jail))
			found = aj_jail_on_control(jail);
		break;
	case AJ_JAIL_OUT:
	case AJ_JAIL_ERR:
		aj_jail_on_output(jail, which == AJ_JAIL_OUT ? 1 : 2);
		break;
	case AJ_JAIL_LISTENER:
		aj_jail_on_listener(jail);
		break;
	case AJ_JAIL_CONNECTOR:
		aj_jail_on_connector(jail);
		break;
	case AJ_JAIL_RELAY:
		found = aj_jail_on_relay(jail);
		break;
	case AJ_JAIL_PUBLISHER:
		aj_jail_on_publisher(jail);
		break;
	default:
		aj_jail_on_exit(jail);
		found = AJ_JAIL_GONE;
	}
	if (jail->channel.ended && jail->process.control_fd >= 0)
		aj_jail_close(jail, AJ_JAIL_CONTROL, &jail->process.control_fd);
	return found;
}

static void handle_event(struct aj_jail *jail, enum aj_jail_fd which, uint32_t events)
{
	unsigned found = handle_ready(jail, which, events);
	aj_jail_watch(jail);
	if (found && jail->on_event)
		jail->on_event(jail, found);
}

static void on_io(struct aj_io *io, uint32_t events)
{
	struct aj_jail *jail = io->arg;
	handle_event(jail, (enum aj_jail_fd)(io - jail->watch.io), events);
}

static void end_by_wall_clock(struct aj_jail *jail)
{
	jail->deadlines.kill_us = INT64_MAX;
	if (jail->stopping || jail->outcome.facts.exited) {
		aj_process_kill(&jail->process);
	} else if (jail->channel.answered && !jail->lasting) {
		/* With an answer the run is over anyway; the remaining processes do not change the result. */
		jail->outcome.facts.lingered = true;
		aj_jail_end(jail);
	} else {
		aj_jail_end_by(jail, AJ_CAUSE_TIMEOUT);
	}
}

static void measure_workspace(struct aj_jail *jail)
{
	const char *why = aj_growth_turn(jail->workspace.growth);
	if (!why)
		return;
	snprintf(jail->outcome.facts.workspace_why, sizeof jail->outcome.facts.workspace_why, "%s", why);
	aj_jail_end_by(jail, AJ_CAUSE_WORKSPACE);
}

static void on_timer(struct aj_timer *timer)
{
	struct aj_jail *jail = timer->arg;
	int64_t now_us = aj_now_us();
	if (aj_locks_due(&jail->calls.locks, jail->calls.listener_fd))
		aj_jail_end_for_lock(jail);
	if (now_us >= jail->deadlines.soft_us)
		aj_interrupt_due(jail);
	if (now_us >= jail->deadlines.kill_us)
		end_by_wall_clock(jail);
	if (now_us >= measure_us(jail))
		measure_workspace(jail);
	if (now_us >= grace_over_us(jail)) {
		jail->deadlines.terminating_since_us = 0;
		aj_jail_end_by(jail, AJ_CAUSE_INTERRUPT);
	}
	if (jail->watch.epoll_failed && aj_pidfd_ended(jail->process.init_pidfd))
		handle_event(jail, AJ_JAIL_INIT, EPOLLIN);
	else
		aj_jail_watch(jail);
}

void aj_jail_events_init(struct aj_jail *jail)
{
	jail->deadlines.timer = (struct aj_timer){ .fn = on_timer, .arg = jail };
	for (int i = 0; i < AJ_JAIL_FDS; i++) {
		bool limited = jail->lasting && i != AJ_JAIL_INIT;
		jail->watch.io[i] = (struct aj_io){ .fn = on_io, .arg = jail, .fd = -1 };
		jail->watch.io[i].quota = limited ? &jail->watch.quota : NULL;
	}
}
