/* The life of a jail in an event loop: opened, one run or several, ended.
 * Never blocks, neither for an end of file nor for a cooperative guest, but in aj_run_kill(), for a jail that it has killed. */
#include "jail/run.h"

#include <signal.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "base/procfs.h"
#include "jail/inner.h"
#include "jail/interrupt.h"

/* Init has this long to kill and count the jail's processes before it is killed itself. */
enum { STOP_US = 100000 };

int aj_run_open(struct aj_run *run, int filters)
{
	run->listener_fd = run->status_fd = -1;
	run->relay = AJ_NO_HELPER;
	run->soft_us = run->deadline_us = INT64_MAX;
	run->facts.cpu_limit_ms = run->policy->cpu_ms;
	run->facts.pids_limit = run->policy->pids;
	run->facts.file_limit_bytes = run->policy->file_bytes;
	run->facts.workspace_limit_bytes = run->built.plan->workspace_bytes;
	run->result.out.cap_bytes = run->result.err.cap_bytes = run->built.plan->capture_bytes;
	aj_run_events_init(run);
	filters += filters >= 0 ? run->jail.baseline : 0;
	if (aj_channel_open(&run->channel, &run->jail.control_fd, run->jail.init_pid, filters, run->built.plan->result_bytes, &run->result) &
	    AJ_CHANNEL_FAILED)
		aj_jail_kill(&run->jail);
	aj_run_watch(run);
	return run->result.setup.exit_code ? -1 : 0;
}

static void send_now(struct aj_run *run)
{
	const struct aj_channel *c = &run->channel;
	/* aj_channel_read() sends what was added meanwhile, in one piece. */
	if (aj_channel_writing(c) && aj_run_reads_control(run) && !c->reading)
		aj_channel_write(&run->channel);
}

void aj_run_flush(struct aj_run *run)
{
	send_now(run);
	aj_run_watch(run);
}

void aj_run_arm(struct aj_run *run)
{
	aj_channel_arm(&run->channel, run->built.plan, run->policy, run->lasting);
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
	aj_interrupt_clocks(run->built.plan, timeout_ms, &soft_us, &wall_us);
	asked.soft_ms = soft_us == INT64_MAX ? 0 : (uint64_t)soft_us / 1000;
	run->wants_files = asked.output;
	if (run->lasting && asked.output && aj_run_take_scratch(run, err) < 0)
		return -1;
	clock_gettime(CLOCK_REALTIME_COARSE, &run->since);
	if (asked.snippet && aj_channel_request(&run->channel, run->lasting, run->built.plan, run->policy, &asked, err) < 0)
		return -1;
	/* The code goes first: the jail reads it while the result is renewed. */
	if (run->lasting) {
		aj_run_count_before(run);
		send_now(run);
		aj_run_renew(run);
	}
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
		return aj_scratch_take(&run->scratch, run->built.plan, runner, run->jail.init_pidfd, err);
	cleanup_fd int pidfd = run->scratch.tmp ? -1 : aj_procfs_open_child(runner, run->channel.init, &info);
	return aj_scratch_take(&run->scratch, run->built.plan, runner, pidfd, err);
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

void aj_run_give_up(struct aj_run *run)
{
	/* The last reference to its /tmp goes with its last process then, so a thread of the kernel frees that, and not this one. */
	aj_scratch_close(&run->scratch);
	aj_run_end(run);
}

void aj_run_end_by(struct aj_run *run, enum aj_cause cause)
{
	if (run->facts.cause == AJ_CAUSE_NONE && !run->facts.exited) {
		run->facts.cause = cause;
		run->facts.unarmed = run->built.plan->snippet && !run->channel.armed;
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
	if (run->built.plan->snippet || (ends && run->told_us && now_us - run->told_us > AJ_SAME_SIGNAL_MS * 1000LL)) {
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
	aj_run_unwatch(run, AJ_RUN_RELAY);
	aj_loop_unset(run->loop, &run->record_timer);
	aj_helper_kill(&run->relay);
	aj_helper_end(&run->relay);
	aj_loop_forget(run->loop, &run->quota);
	aj_scratch_close(&run->scratch);
	aj_result_free(&run->result);
	aj_network_free(&run->network);
}
