/* The life of a jail in an event loop: opened, one run or several, ended.
 * Never blocks, neither for an end of file nor for a cooperative guest, but in aj_jail_kill(), for a jail that it has killed. */
#include "jail/jail.h"

#include <signal.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "base/procfs.h"
#include "jail/jail_inner.h"

/* Init has this long to kill and count the jail's processes before it is killed itself. */
enum { STOP_US = 100000 };

int aj_jail_open(struct aj_jail *jail, int filters)
{
	jail->calls.listener_fd = -1;
	jail->network.relay = AJ_NO_HELPER;
	jail->deadlines.soft_us = jail->deadlines.kill_us = INT64_MAX;
	aj_outcome_init(&jail->outcome, jail->built.plan, jail->policy);
	aj_jail_events_init(jail);
	filters += filters >= 0 ? jail->process.baseline : 0;
	if (aj_channel_open(&jail->channel, &jail->process.control_fd, jail->process.init_pid, filters,
	                    jail->built.plan->result_bytes, &jail->outcome.result) &
	    AJ_CHANNEL_FAILED)
		aj_process_kill(&jail->process);
	aj_jail_watch(jail);
	return jail->outcome.result.setup.exit_code ? -1 : 0;
}

static void send_now(struct aj_jail *jail)
{
	const struct aj_channel *c = &jail->channel;
	/* aj_channel_read() sends what was added meanwhile, in one piece. */
	if (aj_channel_writing(c) && aj_jail_reads_control(jail) && !c->reading)
		aj_channel_write(&jail->channel);
}

void aj_jail_flush(struct aj_jail *jail)
{
	send_now(jail);
	aj_jail_watch(jail);
}

void aj_jail_arm(struct aj_jail *jail)
{
	aj_channel_arm(&jail->channel, jail->built.plan, jail->policy, jail->lasting);
	aj_jail_flush(jail);
}

void aj_jail_layer(struct aj_jail *jail, const struct aj_policy *policy)
{
	aj_channel_layer(&jail->channel, policy);
	aj_jail_flush(jail);
}

static bool listens(const struct aj_jail *jail)
{
	return jail->fork.group ? jail->fork.functions->listens(jail->fork.group) : jail->calls.listener_fd >= 0;
}

void aj_jail_time_limits(const struct aj_plan *plan, uint64_t timeout_ms, int64_t *ret_soft_us, int64_t *ret_wall_us)
{
	int64_t wall_us = plan->wall_ms ? aj_us_of_ms(plan->wall_ms) : INT64_MAX;
	int64_t timeout_us = timeout_ms ? aj_us_of_ms(timeout_ms) : INT64_MAX;
	int64_t limit_us = timeout_us < wall_us ? timeout_us : wall_us;
	*ret_soft_us = plan->snippet ? limit_us : INT64_MAX;
	int64_t grace_us = plan->snippet ? AJ_SNIPPET_GRACE_MS * 1000LL : 0;
	*ret_wall_us = limit_us < INT64_MAX - grace_us ? limit_us + grace_us : limit_us;
}

int aj_jail_begin(struct aj_jail *jail, const struct aj_request *request, int64_t started_us, struct aj_error *err)
{
	struct aj_request asked = *request;
	int64_t soft_us, wall_us;
	aj_jail_time_limits(jail->built.plan, asked.snippet.timeout_ms, &soft_us, &wall_us);
	asked.snippet.timeout_ms = soft_us == INT64_MAX ? 0 : (uint64_t)soft_us / 1000;
	jail->files.wanted = asked.snippet.output_files;
	if (jail->lasting && asked.snippet.output_files && aj_jail_take_scratch(jail, err) < 0)
		return -1;
	clock_gettime(CLOCK_REALTIME_COARSE, &jail->files.since);
	const struct aj_plan *plan = jail->built.plan;
	if (asked.is_snippet && aj_channel_request(&jail->channel, jail->lasting, plan, jail->policy, &asked, err) < 0)
		return -1;
	/* The code goes first: the jail reads it while the result is renewed. */
	if (jail->lasting) {
		aj_outcome_count_before(&jail->outcome, jail->built.plan, &jail->process, jail->channel.runner);
		send_now(jail);
		aj_outcome_renew(&jail->outcome, jail->built.plan, listens(jail));
	}
	if (asked.is_snippet && asked.snippet.code)
		aj_sha256(asked.snippet.code, asked.snippet.code_bytes, jail->outcome.result.code_sha256);
	jail->running = true;
	jail->outcome.started_us = started_us;
	int64_t limit_us = soft_us < wall_us ? soft_us : wall_us;
	jail->outcome.facts.limit_ms = limit_us == INT64_MAX ? 0 : (uint64_t)limit_us / 1000;
	jail->deadlines.soft_us = soft_us == INT64_MAX ? INT64_MAX : started_us + soft_us;
	jail->deadlines.kill_us = wall_us == INT64_MAX ? INT64_MAX : started_us + wall_us;
	aj_jail_flush(jail);
	return 0;
}

int aj_jail_take_scratch(struct aj_jail *jail, struct aj_error *err)
{
	struct aj_process_info info;
	pid_t runner = jail->channel.runner;
	if (jail->process.branch)
		return aj_scratch_take(&jail->files.scratch, jail->built.plan, runner, jail->process.init_pidfd, err);
	cleanup_fd int pidfd = jail->files.scratch.tmp ? -1 : aj_procfs_open_child(runner, jail->channel.init, &info);
	return aj_scratch_take(&jail->files.scratch, jail->built.plan, runner, pidfd, err);
}

struct aj_collect *aj_jail_collect(struct aj_jail *jail, const struct aj_request *request)
{
	const struct aj_collect_how how = { .bytes_max = jail->policy->output_bytes_max,
		                            .files_max = jail->policy->output_files_max,
		                            .data = request->snippet.output_files == AJ_OUTPUT_DATA,
		                            .to = request->snippet.output_to,
		                            .protect = jail->policy->protect.items,
		                            .protect_count = jail->policy->protect.count,
		                            .since = jail->lasting ? jail->files.since : (struct timespec){ 0 } };
	return jail->files.wanted && jail->files.scratch.tmp ? aj_collect_begin(&jail->files.scratch, &how) : NULL;
}

void aj_jail_tool(struct aj_jail *jail, const char *text, size_t bytes)
{
	if (jail->gone)
		return;
	aj_channel_tool(&jail->channel, text, bytes);
	aj_jail_flush(jail);
}

void aj_jail_limit(struct aj_jail *jail, int64_t deadline_us)
{
	jail->deadlines.kill_us = deadline_us;
	aj_jail_watch(jail);
}

/* Asks init to end everything, then kills it at the deadline. Once: nothing that the jail does extends the time. */
void aj_jail_end(struct aj_jail *jail)
{
	if (jail->stopping || jail->gone)
		return;
	jail->stopping = true;
	jail->deadlines.soft_us = INT64_MAX;
	aj_process_stop(&jail->process);
	aj_jail_limit(jail, aj_now_us() + STOP_US);
}

void aj_jail_give_up(struct aj_jail *jail)
{
	/* Its last process then has the last reference to its /tmp: a thread of the kernel frees that, and not this one. */
	aj_scratch_close(&jail->files.scratch);
	aj_jail_end(jail);
}

void aj_jail_end_by(struct aj_jail *jail, enum aj_cause cause)
{
	if (jail->outcome.facts.cause == AJ_CAUSE_NONE && !jail->outcome.facts.exited) {
		jail->outcome.facts.cause = cause;
		jail->outcome.facts.unarmed = jail->built.plan->snippet && !jail->channel.armed;
		aj_jail_end(jail);
	}
}

void aj_jail_end_for_lock(struct aj_jail *jail)
{
	aj_jail_end_by(jail, AJ_CAUSE_LOCKS);
}

void aj_jail_signal(struct aj_jail *jail, int signal)
{
	bool ends = signal == SIGTERM || signal == SIGINT || signal == SIGQUIT;
	int64_t now_us = aj_now_us();
	if (jail->built.plan->snippet || (ends && jail->deadlines.terminating_since_us &&
	                                  now_us - jail->deadlines.terminating_since_us > AJ_SAME_SIGNAL_MS * 1000LL)) {
		jail->outcome.facts.interrupt_signal = signal;
		aj_jail_end_by(jail, AJ_CAUSE_INTERRUPT);
		return;
	}
	aj_pidfd_signal(jail->process.init_pidfd, signal);
	if (ends && !jail->deadlines.terminating_since_us) {
		jail->deadlines.terminating_since_us = now_us;
		jail->outcome.facts.interrupt_signal = signal;
	}
	aj_jail_watch(jail);
}

void aj_jail_fail(struct aj_jail *jail, const char *cause)
{
	aj_fail(&jail->outcome.result.setup, AJ_EXIT_SETUP, "watch", 0, "%s", cause);
	aj_process_kill(&jail->process);
}

void aj_jail_kill(struct aj_jail *jail)
{
	if (jail->gone)
		return;
	aj_process_kill(&jail->process);
	aj_jail_on_exit(jail);
}

void aj_jail_free(struct aj_jail *jail)
{
	aj_jail_kill(jail);
	aj_jail_unwatch(jail, AJ_JAIL_RELAY);
	aj_loop_unset(jail->loop, &jail->network.record_timer);
	aj_helper_kill(&jail->network.relay);
	aj_helper_end(&jail->network.relay);
	aj_loop_forget(jail->loop, &jail->watch.quota);
	aj_scratch_close(&jail->files.scratch);
	aj_result_free(&jail->outcome.result);
	aj_network_free(&jail->network.use);
}
