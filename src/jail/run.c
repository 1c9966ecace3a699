/* The life of a jail in an event loop: opened, one run or several, ended; each event goes to the file of its kind.
 * Never blocks, neither for an end of file nor for a cooperative guest, but in aj_run_kill(), for a jail that it has killed. */
#include "jail/run.h"

#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "base/procfs.h"
#include "jail/inner.h"
#include "jail/interrupt.h"

/* Init has this long to kill and count the jail's processes before it is killed itself. */
enum { STOP_US = 100000 };
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
	if (fd >= 0 && pump && pump->bytes)
		watch_fd(run, which, pump->fd, EPOLLOUT);
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
	if (run->exited)
		return;
	watch_fd(run, AJ_RUN_REPORT, jail->report_fd, EPOLLIN);
	watch_fd(run, AJ_RUN_CONTROL, aj_run_reads_control(run) ? jail->control_fd : -1,
	         aj_channel_writing(&run->channel) ? EPOLLIN | EPOLLOUT : EPOLLIN);
	watch_output(run, AJ_RUN_OUT, jail->stdout_fd);
	watch_output(run, AJ_RUN_ERR, jail->stderr_fd);
	watch_fd(run, AJ_RUN_LISTENER, run->listener_fd, EPOLLIN);
	watch_fd(run, AJ_RUN_CONNECTOR, run->mediator ? run->mediator->connector.socket : -1, EPOLLIN);
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

/* --- the life of a jail --- */

int aj_run_open(struct aj_run *run, int filters)
{
	run->listener_fd = -1;
	run->soft_us = run->deadline_us = INT64_MAX;
	run->facts.cpu_limit_ms = run->policy->cpu_ms;
	run->facts.pids_limit = run->policy->pids;
	run->facts.file_limit_bytes = run->policy->file_bytes;
	run->facts.workspace_limit_bytes = run->plan->workspace_bytes;
	run->result.out.cap_bytes = run->result.err.cap_bytes = run->plan->capture_bytes;
	run->timer = (struct aj_timer){ .fn = on_timer, .arg = run };
	for (int i = 0; i < AJ_RUN_FDS; i++)
		run->io[i] = (struct aj_io){ .fn = on_io, .arg = run, .fd = -1, .quota = run->lasting && i != AJ_RUN_INIT ? &run->quota : NULL };
	filters += filters >= 0 ? run->jail.baseline : 0;
	if (aj_channel_open(&run->channel, &run->jail.control_fd, run->jail.init_pid, filters, run->plan->result_bytes, &run->result) &
	    AJ_CHANNEL_FAILED)
		aj_jail_kill(&run->jail);
	aj_run_watch(run);
	return run->result.setup.exit_code ? -1 : 0;
}

void aj_run_flush(struct aj_run *run)
{
	const struct aj_channel *c = &run->channel;
	/* aj_channel_read() sends what was added meanwhile, in one piece. */
	if (aj_channel_writing(c) && aj_run_reads_control(run) && !c->reading)
		aj_channel_write(&run->channel);
	aj_run_watch(run);
}

void aj_run_arm(struct aj_run *run)
{
	aj_channel_arm(&run->channel, run->plan, run->policy, run->lasting);
	aj_run_flush(run);
}

void aj_run_layer(struct aj_run *run, const struct aj_policy *policy)
{
	aj_channel_layer(&run->channel, policy);
	aj_run_flush(run);
}

int aj_run_begin(struct aj_run *run, const struct aj_request *request, uint64_t timeout_ms, int64_t started_us, struct aj_error *err)
{
	struct aj_request asked = *request;
	int64_t soft_us, wall_us;
	aj_interrupt_clocks(run->plan, timeout_ms, &soft_us, &wall_us);
	asked.soft_ms = soft_us == INT64_MAX ? 0 : (uint64_t)soft_us / 1000;
	run->wants_files = asked.output;
	if (run->lasting && asked.output && aj_run_take_scratch(run, err) < 0)
		return -1;
	clock_gettime(CLOCK_REALTIME_COARSE, &run->since);
	if (asked.snippet && aj_channel_request(&run->channel, run->lasting, run->plan, run->policy, &asked, err) < 0)
		return -1;
	if (run->lasting)
		aj_run_renew(run);
	if (asked.snippet && asked.code)
		aj_sha256(asked.code, asked.code_bytes, run->result.code_sha256);
	run->running = true;
	run->started_us = started_us;
	int64_t limit_us = soft_us < wall_us ? soft_us : wall_us;
	run->facts.limit_ms = limit_us == INT64_MAX ? 0 : (uint64_t)limit_us / 1000;
	run->soft_us = soft_us == INT64_MAX ? INT64_MAX : started_us + soft_us;
	run->deadline_us = wall_us == INT64_MAX ? INT64_MAX : started_us + wall_us;
	aj_run_flush(run);
	return 0;
}

int aj_run_take_scratch(struct aj_run *run, struct aj_error *err)
{
	struct aj_process_info info;
	pid_t runner = run->channel.runner;
	if (run->jail.branch)
		return aj_scratch_take(&run->scratch, run->plan, runner, run->jail.init_pidfd, err);
	cleanup_fd int pidfd = run->scratch.tmp ? -1 : aj_procfs_open_child(runner, run->channel.init, &info);
	return aj_scratch_take(&run->scratch, run->plan, runner, pidfd, err);
}

struct aj_collect *aj_run_collect(struct aj_run *run, const struct aj_request *request)
{
	const struct aj_collect_how how = { .bytes_max = run->policy->output_bytes_max,
		                            .files_max = run->policy->output_files_max,
		                            .data = request->output_data,
		                            .to = request->output_to,
		                            .protect = run->policy->protect.items,
		                            .protect_count = run->policy->protect.count,
		                            .since = run->lasting ? run->since : (struct timespec){ 0 } };
	return run->wants_files && run->scratch.tmp ? aj_collect_begin(&run->scratch, &how) : NULL;
}

void aj_run_tool(struct aj_run *run, const char *text, size_t bytes)
{
	if (run->gone)
		return;
	aj_channel_tool(&run->channel, text, bytes);
	aj_run_flush(run);
}

void aj_run_limit(struct aj_run *run, int64_t deadline_us)
{
	run->deadline_us = deadline_us;
	aj_run_watch(run);
}

/* Asks init to end everything, then kills it at the deadline. Once: nothing that the jail does extends the time. */
void aj_run_end(struct aj_run *run)
{
	if (run->stopping || run->gone)
		return;
	run->stopping = true;
	run->soft_us = INT64_MAX;
	aj_jail_stop(&run->jail);
	aj_run_limit(run, aj_now_us() + STOP_US);
}

void aj_run_end_by(struct aj_run *run, enum aj_cause cause)
{
	if (run->facts.cause == AJ_CAUSE_NONE && !run->facts.exited) {
		run->facts.cause = cause;
		aj_run_end(run);
	}
}

void aj_run_cheated(struct aj_run *run)
{
	aj_run_end_by(run, AJ_CAUSE_LOCKS);
}

void aj_run_signal(struct aj_run *run, int signal)
{
	bool ends = signal == SIGTERM || signal == SIGINT || signal == SIGQUIT;
	int64_t now_us = aj_now_us();
	if (run->plan->snippet || (ends && run->told_us && now_us - run->told_us > AJ_SAME_SIGNAL_MS * 1000LL)) {
		run->facts.interrupt_signal = signal;
		aj_run_end_by(run, AJ_CAUSE_INTERRUPT);
		return;
	}
	aj_pidfd_signal(run->jail.init_pidfd, signal);
	if (ends && !run->told_us) {
		run->told_us = now_us;
		run->facts.interrupt_signal = signal;
	}
	aj_run_watch(run);
}

void aj_run_fail(struct aj_run *run, const char *cause)
{
	aj_fail(&run->result.setup, AJ_EXIT_SETUP, "watch", 0, "%s", cause);
	aj_jail_kill(&run->jail);
}

void aj_run_kill(struct aj_run *run)
{
	if (run->gone)
		return;
	aj_jail_kill(&run->jail);
	aj_run_on_exit(run);
}

void aj_run_free(struct aj_run *run)
{
	aj_run_kill(run);
	aj_loop_forget(run->loop, &run->quota);
	aj_scratch_close(&run->scratch);
	aj_result_free(&run->result);
}
