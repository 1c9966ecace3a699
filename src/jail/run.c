/* Handles all that happens to a jail, one event at a time: output, messages, exit, deadlines, signals.
 * Never blocks, neither for an end of file nor for a cooperative guest: when init is gone, the jail is. */
#include "jail/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "cgroup/leaf.h"
#include "jail/interrupt.h"
#include "jail/usage.h"
#include "mediate/violations.h"
#include "sandbox/handshake.h"

/* A runner that has sent its last result has this long to exit by itself. */
enum { LEAVE_US = 200000 };
/* Init has this long to kill and count the jail's processes before it is killed itself. */
enum { STOP_US = 100000 };
/* A pipe holds at most 1 MiB, which is this many reads. */
enum { DRAIN_READS = (1 << 20) / AJ_CHUNK_BYTES };

/* Asks init to end everything, then kills it at the deadline. Once: nothing that the jail does extends the time. */
static void stop_jail(struct aj_run *run)
{
	if (run->stopping || run->gone)
		return;
	run->stopping = true;
	run->soft_us = INT64_MAX;
	run->deadline_us = aj_now_us() + STOP_US;
	aj_jail_stop(&run->jail);
}

static void end_run(struct aj_run *run, enum aj_cause cause)
{
	if (run->facts.cause == AJ_CAUSE_NONE && !run->facts.exited) {
		run->facts.cause = cause;
		stop_jail(run);
	}
}

void aj_run_fail(struct aj_run *run, const char *cause)
{
	aj_fail(&run->result.setup, AJ_EXIT_SETUP, "watch", 0, "%s", cause);
	aj_jail_kill(&run->jail);
}

static void close_fd(struct aj_run *run, enum aj_run_fd which, int *fd)
{
	if (run->closing)
		run->closing(run, which);
	aj_close(fd);
}

/* The plan's own string for this target, NULL for none. */
static const char *scratch_mount(const struct aj_plan *plan, const char *target)
{
	for (size_t i = 0; i < plan->mounts.count; i++)
		if (plan->mounts.items[i].kind == AJ_MOUNT_TMPFS && strcmp(plan->mounts.items[i].target, target) == 0)
			return plan->mounts.items[i].target;
	return NULL;
}

/* The guest waits for the answer before it execs. A newborn's report socket may be controlled by its zygote, which could send
 * without ever reading: where the buffer is full, the run fails and nothing waits. */
static void take_listener(struct aj_run *run, pid_t guest, int number)
{
	static const struct aj_msg taken = { .kind = AJ_MSG_TAKEN };
	aj_violations_listen(&run->result.violations, &run->listener_fd, guest, run->jail.init_pid, number);
	if (send(run->jail.report_fd, &taken, sizeof taken, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EPIPE && errno != ECONNRESET)
		aj_run_fail(run, errno == EAGAIN ? "init does not read what it is answered" : "init cannot be answered");
}

/* A folder could not be shown through an overlay, so socket files of the host may be in reach: the guest's filter reports connects. */
static void on_bound(struct aj_run *run, const struct aj_msg *msg)
{
	struct aj_error err = { 0 };
	if (!aj_result_bound(&run->result, run->plan, msg->cause, msg->errnum) || !run->mediator || run->plan->mediated)
		return;
	run->built = *run->plan;
	aj_plan_reach_sockets(&run->built);
	run->plan = &run->built;
	run->result.unheard = run->built.unheard;
	if (run->plan->mediated && aj_mediator_open(run->mediator, run->plan, &err) < 0) {
		run->result.setup = err;
		aj_jail_kill(&run->jail);
	}
}

static void on_report(struct aj_run *run)
{
	struct aj_msg msg;
	pid_t sender;
	int r = aj_msg_recv_from(run->jail.report_fd, &msg, MSG_DONTWAIT, &sender);
	/* Init died with an unread message of ours: ECONNRESET comes once, before init's last messages. */
	if (r < 0 && (errno == EAGAIN || errno == ECONNRESET))
		return;
	if (r <= 0) {
		close_fd(run, AJ_RUN_REPORT, &run->jail.report_fd);
		return;
	}
	switch (msg.kind) {
	case AJ_MSG_FAILED:
		aj_msg_error(&msg, &run->result.setup);
		return;
	case AJ_MSG_NOTE:
		snprintf(run->result.note, sizeof run->result.note, "%s: %s: %s", msg.step, msg.cause, strerror(msg.errnum));
		return;
	case AJ_MSG_LISTENER:
		take_listener(run, sender, msg.listener);
		return;
	case AJ_MSG_BOUND:
		on_bound(run, &msg);
		return;
	case AJ_MSG_BOUND_FILE:
		aj_result_bound(&run->result, run->plan, msg.cause, msg.errnum);
		return;
	case AJ_MSG_EXITED:
		run->facts.exited = true;
		run->facts.wait_status = msg.wait_status;
		run->facts.full = scratch_mount(run->plan, msg.step);
		return;
	default:
		aj_run_fail(run, "init sent a message that only we may send");
	}
}

/* `r`: the pump's return value. False: the pump is full. */
static bool handle_pump(struct aj_run *run, const struct aj_pump *pump, int r)
{
	if (r < 0) {
		aj_fail(&run->result.setup, AJ_EXIT_SETUP, "output", errno,
		        "write on what the jail has written; what ran until then is done");
		aj_jail_kill(&run->jail);
	}
	if (run->policy->file_bytes && pump->total_bytes > run->policy->file_bytes)
		end_run(run, AJ_CAUSE_FILE);
	return r > 0;
}

/* Read once; false when nothing was there. Closes the fd at end of file. */
static bool on_output(struct aj_run *run, int *fd, int number)
{
	char chunk[AJ_CHUNK_BYTES];
	struct aj_output_buffer *capture = number == 1 ? &run->result.out : &run->result.err;
	struct aj_pump *pump = run->pump ? &run->pump[number - 1] : NULL;
	if (*fd < 0 || (pump && !handle_pump(run, pump, aj_pump_flush(pump))))
		return false;
	ssize_t n = read(*fd, chunk, sizeof chunk);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n < 0) /* truncated output must not pass as the jail's */
		aj_run_fail(run, "the jail's output cannot be read; what ran until then is done");
	if (n <= 0) {
		close_fd(run, number == 1 ? AJ_RUN_OUT : AJ_RUN_ERR, fd);
		return false;
	}
	if (pump && run->facts.cause == AJ_CAUSE_FILE) /* output beyond the limit is dropped */
		return true;
	if (pump)
		return handle_pump(run, pump, aj_pump_write(pump, chunk, (size_t)n));
	aj_output_buffer_add(capture, chunk, (size_t)n);
	if (run->output)
		run->output(number, chunk, (size_t)n, run->output_arg);
	if (run->plan->output_bytes && run->result.out.total_bytes + run->result.err.total_bytes > run->plan->output_bytes)
		end_run(run, AJ_CAUSE_OUTPUT);
	return true;
}

/* Another process may hold the pipe's write end: reads at most a full pipe, and does not wait for more. */
void aj_run_drain(struct aj_run *run)
{
	for (int i = 0; i < DRAIN_READS && on_output(run, &run->jail.stdout_fd, 1); i++)
		;
	for (int i = 0; i < DRAIN_READS && on_output(run, &run->jail.stderr_fd, 2); i++)
		;
}

/* Reports the workspace's state. */
static void report_workspace(struct aj_run *run, bool jail_gone)
{
	json_decref(run->result.workspace);
	run->result.workspace = run->protect ? aj_protect_report(run->protect, jail_gone) : NULL;
}

/* A lasting jail has answered: complete the result while the jail is there. */
static void finish_run(struct aj_run *run)
{
	struct aj_leaf_usage now;
	run->running = false;
	run->soft_us = run->deadline_us = INT64_MAX;
	run->facts.alive = true;
	aj_leaf_read(run->jail.cgroup, &now);
	run->facts.leaf = now;
	aj_leaf_since(&run->facts.leaf, &run->leaf_before);
	aj_meter_read(run->channel.runner, run->cpu_before_us, &run->facts.usage);
	if (strcmp(aj_claim_status(run->result.claim), "error") == 0)
		run->facts.full = aj_meter_full(run->channel.runner, run->plan);
	run->result.wall_us = (uint64_t)(aj_now_us() - run->started_us);
	report_workspace(run, false);
	aj_verdict(&run->facts, run->plan, &run->result);
}

static void send_signal(const struct aj_run *run, int signal)
{
	syscall(SYS_pidfd_send_signal, run->jail.init_pidfd, signal, NULL, 0);
}

/* A jail that is being ended is not attested any more: the kernel has no /proc/PID/status of the dead. */
static bool reads_control(const struct aj_run *run)
{
	return run->jail.control_fd >= 0 && !run->channel.ended && (run->channel.armed || !run->stopping);
}

static unsigned on_control(struct aj_run *run)
{
	bool started = run->channel.started;
	unsigned found = aj_channel_read(&run->channel), ret = 0;
	if (run->channel.started && !started)
		aj_interrupt_started(run);
	/* Before anything is sent that makes the runner close its own copy. */
	if (found & AJ_CHANNEL_LISTENER)
		aj_violations_listen(&run->result.violations, &run->listener_fd, run->channel.listener_sender, run->jail.init_pid,
		                     run->channel.listener);
	if ((found & AJ_CHANNEL_ARMED) && run->jail.outside && aj_leaf_take(run->jail.cgroup, run->channel.runner) < 0) {
		aj_run_fail(run, "the jail's guest cannot be moved into its cgroup");
		return 0;
	}
	if (found & AJ_CHANNEL_ARMED) {
		/* Refusals before the runner was armed are not the code's. */
		run->leaf_before.pids_refused = aj_leaf_pids_refused(run->jail.cgroup);
		ret |= run->lasting ? AJ_RUN_ARMED : 0;
	}
	if (found & AJ_CHANNEL_FAILED)
		aj_jail_kill(&run->jail);
	if ((found & AJ_CHANNEL_BRANCHED) && run->fork_group)
		run->group->answered(run->fork_group, run);
	int64_t leave_us = aj_now_us() + LEAVE_US;
	if ((found & AJ_CHANNEL_ANSWERED) && !run->lasting && leave_us < run->deadline_us)
		run->deadline_us = leave_us;
	if (found & (AJ_CHANNEL_BROKEN | AJ_CHANNEL_REFUSED)) {
		/* Also when the message is read only after the guest has gone: the verdict must not depend on timing. */
		if (run->facts.cause == AJ_CAUSE_NONE)
			run->facts.cause = found & AJ_CHANNEL_REFUSED ? AJ_CAUSE_CALLS : AJ_CAUSE_PROTOCOL;
		stop_jail(run);
	} else if ((found & AJ_CHANNEL_ANSWERED) && run->lasting && !run->stopping) {
		aj_run_drain(run);
		if (!run->stopping) { /* the drained output may have exceeded the limit */
			finish_run(run);
			ret |= AJ_RUN_ANSWERED;
		}
	}
	return ret;
}

void aj_run_open(struct aj_run *run, int filters)
{
	run->listener_fd = -1;
	run->soft_us = run->deadline_us = INT64_MAX;
	run->facts.cpu_limit_ms = run->policy->cpu_ms;
	run->facts.pids_limit = run->policy->pids;
	run->facts.file_limit_bytes = run->policy->file_bytes;
	run->result.out.cap_bytes = run->result.err.cap_bytes = run->plan->capture_bytes;
	filters += filters >= 0 ? run->jail.baseline : 0;
	if (aj_channel_open(&run->channel, &run->jail.control_fd, run->jail.init_pid, filters, run->plan->result_bytes, &run->result) &
	    AJ_CHANNEL_FAILED)
		aj_jail_kill(&run->jail);
}

/* Keeps what was found before the first run, and drops what belonged to the last one. */
static void next_result(struct aj_run *run)
{
	struct aj_result *r = &run->result;
	uint64_t peak_bytes = r->peak_memory_bytes;
	/* After too many refusals the listener is closed. */
	bool seen = r->violations.seen && (run->fork_group ? run->group->listens(run->fork_group) : run->listener_fd >= 0);
	char note[sizeof r->note], bound[sizeof r->bound];
	memcpy(note, r->note, sizeof note);
	memcpy(bound, r->bound, sizeof bound);
	aj_result_free(r);
	*r = (struct aj_result){ .out.cap_bytes = run->plan->capture_bytes,
		                 .err.cap_bytes = run->plan->capture_bytes,
		                 .violations.seen = seen };
	memcpy(r->note, note, sizeof note);
	memcpy(r->bound, bound, sizeof bound);
	run->facts = (struct aj_facts){ .cpu_limit_ms = run->facts.cpu_limit_ms,
		                        .pids_limit = run->facts.pids_limit,
		                        .file_limit_bytes = run->facts.file_limit_bytes };
	/* Only where the old peak could be taken for this run's: resetting it costs a tenth of a small snippet. */
	if (run->plan->memory_by_rlimit && peak_bytes > run->plan->memory_bytes / 2 && !aj_meter_forget_peak(run->channel.runner))
		run->facts.peak_before_bytes = peak_bytes;
	aj_leaf_read(run->jail.cgroup, &run->leaf_before);
	run->cpu_before_us = aj_meter_cpu_us(run->channel.runner);
}

int aj_run_begin(struct aj_run *run, const struct aj_request *request, uint64_t timeout_ms, int64_t started_us, struct aj_error *err)
{
	struct aj_request asked = *request;
	int64_t soft_us, wall_us;
	aj_interrupt_clocks(run->plan, asked.lasting, timeout_ms, &soft_us, &wall_us);
	asked.soft_ms = soft_us == INT64_MAX ? 0 : (uint64_t)soft_us / 1000;
	if (asked.snippet && aj_channel_request(&run->channel, run->lasting, run->plan, run->policy, &asked, err) < 0)
		return -1;
	if (run->lasting)
		next_result(run);
	if (asked.snippet && asked.code)
		aj_sha256(asked.code, asked.code_bytes, run->result.code_sha256);
	run->running = true;
	run->started_us = started_us;
	run->facts.wall_ms = wall_us == INT64_MAX ? 0 : (uint64_t)wall_us / 1000;
	run->soft_ms = asked.soft_ms;
	run->soft_us = soft_us == INT64_MAX ? INT64_MAX : started_us + soft_us;
	run->deadline_us = wall_us == INT64_MAX ? INT64_MAX : started_us + wall_us;
	return 0;
}

void aj_run_signal(struct aj_run *run, int signal)
{
	if (run->plan->snippet) {
		run->facts.interrupt_signal = signal;
		end_run(run, AJ_CAUSE_INTERRUPT);
	} else {
		send_signal(run, signal);
	}
}

void aj_run_end(struct aj_run *run)
{
	stop_jail(run);
}

void aj_run_cheated(struct aj_run *run)
{
	end_run(run, AJ_CAUSE_LOCKS);
}

int64_t aj_run_deadline_us(const struct aj_run *run)
{
	int64_t first_us = run->soft_us < run->deadline_us ? run->soft_us : run->deadline_us,
		locks_us = aj_locks_deadline_us(&run->locks);
	return locks_us < first_us ? locks_us : first_us;
}

void aj_run_due(struct aj_run *run)
{
	int64_t now_us = aj_now_us();
	if (aj_locks_due(&run->locks, run->listener_fd))
		aj_run_cheated(run);
	if (now_us >= run->soft_us)
		aj_interrupt_due(run);
	if (now_us < run->deadline_us)
		return;
	run->deadline_us = INT64_MAX;
	if (run->stopping || run->facts.exited) {
		aj_jail_kill(&run->jail);
	} else if (run->channel.answered && !run->lasting) {
		/* With an answer the run is over anyway; the remaining processes do not change the result. */
		run->facts.lingered = true;
		stop_jail(run);
	} else {
		end_run(run, AJ_CAUSE_TIMEOUT);
	}
}

/* Init is gone, and so is every process of the jail. The bytes that are left in the channels were written before. */
static void on_init_exit(struct aj_run *run)
{
	struct aj_jail *jail = &run->jail;
	while (jail->report_fd >= 0) {
		struct pollfd p = { .fd = jail->report_fd, .events = POLLIN };
		if (poll(&p, 1, 0) <= 0)
			break;
		on_report(run);
	}
	if (run->fork_group)
		run->group->on_exit(run->fork_group, run);
	bool lasting = run->lasting; /* an answer that is read now must not keep the jail going */
	run->lasting = false;
	while (reads_control(run) && run->facts.cause == AJ_CAUSE_NONE) {
		struct pollfd p = { .fd = jail->control_fd, .events = POLLIN };
		if (poll(&p, 1, 0) <= 0)
			break;
		on_control(run);
	}
	run->lasting = lasting;
	for (int i = 0; run->pump && i < 2; i++)
		run->pump[i].last = true;
	aj_run_drain(run);
	if (run->mediator)
		aj_mediator_close(run->mediator);
	aj_locks_close(&run->locks);
	aj_close(&run->listener_fd);
	memcpy(run->facts.protocol_why, run->channel.why, sizeof run->facts.protocol_why);
	aj_leaf_read(jail->cgroup, &run->facts.leaf);
	aj_leaf_since(&run->facts.leaf, &run->leaf_before);
	if (jail->init_pidfd >= 0 && run->plan->snippet && run->facts.cause == AJ_CAUSE_NONE && !run->result.setup.exit_code)
		aj_channel_ended(&run->channel);
	aj_jail_end(jail, &run->facts.usage);
	run->result.wall_us = (uint64_t)(aj_now_us() - run->started_us);
	report_workspace(run, true);
	aj_protect_close(run->protect);
	run->protect = NULL;
	aj_channel_free(&run->channel);
	run->soft_us = run->deadline_us = INT64_MAX;
	run->gone = true;
	if (run->facts.alive) { /* the last result is known, the reason of the end is not */
		run->facts.alive = false;
		run->facts.stop = AJ_STOP_NONE;
		run->result.reason[0] = '\0';
		json_decref(run->result.claim);
		run->result.claim = NULL;
	}
	aj_verdict(&run->facts, run->plan, &run->result);
}

/* While the pump is full, poll the destination and not the jail. */
static struct pollfd poll_output(const struct aj_run *run, int fd, int number)
{
	const struct aj_pump *pump = run->pump ? &run->pump[number - 1] : NULL;
	if (fd >= 0 && pump && pump->bytes)
		return (struct pollfd){ .fd = pump->fd, .events = POLLOUT };
	return (struct pollfd){ .fd = fd, .events = POLLIN };
}

/* From now on every call that the filter reports fails. The connector has a duplicate of the listener: held calls wake only once that is
 * closed, too. */
static void stop_listening(struct aj_run *run)
{
	if (run->mediator) {
		if (run->closing)
			run->closing(run, AJ_RUN_CONNECTOR);
		aj_mediator_stop(run->mediator);
	}
	close_fd(run, AJ_RUN_LISTENER, &run->listener_fd);
}

static bool mediate_call(void *arg, const struct aj_notification *call)
{
	struct aj_run *run = arg;
	const int pipes[AJ_LOCKABLE_PIPES] = { run->jail.stdout_fd, run->jail.stderr_fd };
	enum aj_lock lock = aj_locks_call(&run->locks, run->plan, pipes, run->listener_fd, call);
	if (lock == AJ_LOCK_CHEATED)
		aj_run_cheated(run);
	if (lock != AJ_LOCK_NONE)
		return lock == AJ_LOCK_HANDLED;
	return run->mediator && aj_mediator_call(run->mediator, run->plan, &run->jail, run->listener_fd, call);
}

static void on_listener(struct aj_run *run)
{
	const struct aj_handler handler = { mediate_call, run };
	/* Calls that Python is refused while it starts are not the code's. */
	struct aj_violations *counted = run->channel.armed || !run->plan->snippet ? &run->result.violations : NULL;
	if (!aj_violations_answer(counted, run->plan, run->listener_fd, &handler))
		stop_listening(run);
}

static void on_connector(struct aj_run *run)
{
	if (!aj_mediator_refused(run->mediator, &run->result.violations, run->plan, run->listener_fd))
		stop_listening(run);
}

void aj_run_poll(const struct aj_run *run, struct pollfd fds[AJ_RUN_FDS])
{
	const struct aj_jail *jail = &run->jail;
	fds[AJ_RUN_REPORT] = (struct pollfd){ .fd = jail->report_fd, .events = POLLIN };
	fds[AJ_RUN_CONTROL] = (struct pollfd){ .fd = reads_control(run) ? jail->control_fd : -1,
		                               .events = (short)(POLLIN | (aj_channel_writing(&run->channel) ? POLLOUT : 0)) };
	fds[AJ_RUN_OUT] = poll_output(run, jail->stdout_fd, 1);
	fds[AJ_RUN_ERR] = poll_output(run, jail->stderr_fd, 2);
	fds[AJ_RUN_LISTENER] = (struct pollfd){ .fd = run->listener_fd, .events = POLLIN };
	fds[AJ_RUN_CONNECTOR] = (struct pollfd){ .fd = run->mediator ? run->mediator->connector.socket : -1, .events = POLLIN };
	fds[AJ_RUN_INIT] = (struct pollfd){ .fd = jail->init_pidfd, .events = POLLIN };
}

unsigned aj_run_step(struct aj_run *run, const struct pollfd fds[AJ_RUN_FDS])
{
	struct aj_jail *jail = &run->jail;
	unsigned ret = 0;
	if (run->gone)
		return 0;
	if (fds[AJ_RUN_REPORT].revents && jail->report_fd >= 0)
		on_report(run);
	if (fds[AJ_RUN_CONTROL].revents & POLLOUT)
		aj_channel_write(&run->channel);
	if (fds[AJ_RUN_CONTROL].revents & ~POLLOUT && reads_control(run))
		ret |= on_control(run);
	if (run->channel.ended && jail->control_fd >= 0)
		close_fd(run, AJ_RUN_CONTROL, &jail->control_fd);
	if (fds[AJ_RUN_OUT].revents)
		on_output(run, &jail->stdout_fd, 1);
	if (fds[AJ_RUN_ERR].revents)
		on_output(run, &jail->stderr_fd, 2);
	if (fds[AJ_RUN_LISTENER].revents && run->listener_fd >= 0)
		on_listener(run);
	if (fds[AJ_RUN_CONNECTOR].revents && run->mediator && run->mediator->connector.socket >= 0)
		on_connector(run);
	if (fds[AJ_RUN_INIT].revents) {
		on_init_exit(run);
		ret |= AJ_RUN_GONE;
	}
	return ret;
}

void aj_run_free(struct aj_run *run)
{
	aj_result_free(&run->result);
}
