/* What happens to a jail, one event at a time: output, messages, end, deadlines, signals.
 * It never waits, neither for an end of file nor for the guest's good will: when init is gone, the jail is. */
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

/* A runner that has sent its last result has this long to leave by itself. */
enum { LEAVE_US = 200000 };
/* Init has this long to kill and count the jail's processes before it is killed itself. */
enum { STOP_US = 100000 };
/* A pipe holds at most 1 MiB, which is this many reads. */
enum { DRAIN_READS = (1 << 20) / AJ_CHUNK_BYTES };

/* Init ends everything; what then is still there is killed. Once: nothing that the jail does gives it more time. */
static void stop(struct aj_run *l)
{
	if (l->stopping || l->gone)
		return;
	l->stopping = true;
	l->soft_us = INT64_MAX;
	l->deadline_us = aj_now_us() + STOP_US;
	aj_jail_stop(&l->jail);
}

static void end(struct aj_run *l, enum aj_cause cause)
{
	if (l->facts.cause == AJ_CAUSE_NONE && !l->facts.exited) {
		l->facts.cause = cause;
		stop(l);
	}
}

void aj_run_fail(struct aj_run *l, const char *cause)
{
	aj_fail(&l->result.setup, AJ_EXIT_SETUP, "watch", 0, "%s", cause);
	aj_jail_kill(&l->jail);
}

static void let_go(struct aj_run *l, enum aj_run_fd which, int *fd)
{
	if (l->closing)
		l->closing(l, which);
	aj_close(fd);
}

/* The plan's own word for it, NULL for "". */
static const char *scratch_mount(const struct aj_plan *plan, const char *target)
{
	for (size_t i = 0; i < plan->mounts.count; i++)
		if (plan->mounts.items[i].kind == AJ_MOUNT_TMPFS && strcmp(plan->mounts.items[i].target, target) == 0)
			return plan->mounts.items[i].target;
	return NULL;
}

/* The guest waits for the answer before it becomes anybody else. The socket of a jail that is born from a zygote may be the zygote's, which
 * could ask without ever reading an answer: where there is no room for one, nothing is waited for. */
static void take_listener(struct aj_run *l, pid_t guest, int number)
{
	static const struct aj_msg taken = { .kind = AJ_MSG_TAKEN };
	aj_violations_listen(&l->result.violations, &l->listener_fd, guest, l->jail.init_pid, number);
	if (send(l->jail.report_fd, &taken, sizeof taken, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EPIPE && errno != ECONNRESET)
		aj_run_fail(l, errno == EAGAIN ? "init does not read what it is answered" : "init cannot be answered");
}

/* A folder could not be shown through an overlay, so socket files of the host may be in reach: the guest's filter reports connects. */
static void on_bound(struct aj_run *l, const struct aj_msg *msg)
{
	struct aj_error err = { 0 };
	if (!aj_result_bound(&l->result, l->plan, msg->cause, msg->errnum) || !l->mediator || l->plan->mediated)
		return;
	l->built = *l->plan;
	aj_plan_reach_sockets(&l->built);
	l->plan = &l->built;
	l->result.unheard = l->built.unheard;
	if (l->plan->mediated && aj_mediator_open(l->mediator, l->plan, &err) < 0) {
		l->result.setup = err;
		aj_jail_kill(&l->jail);
	}
}

static void on_report(struct aj_run *l)
{
	struct aj_msg msg;
	pid_t sender;
	int r = aj_msg_recv_from(l->jail.report_fd, &msg, MSG_DONTWAIT, &sender);
	/* Init died with a message of ours unread: that error comes once, before what it had sent. */
	if (r < 0 && (errno == EAGAIN || errno == ECONNRESET))
		return;
	if (r <= 0) {
		let_go(l, AJ_RUN_REPORT, &l->jail.report_fd);
		return;
	}
	switch (msg.kind) {
	case AJ_MSG_FAILED:
		aj_fail(&l->result.setup, msg.exit_code, msg.step, msg.errnum, "%s", msg.cause);
		if (msg.fix[0])
			aj_advise(&l->result.setup, "%s", msg.fix);
		return;
	case AJ_MSG_NOTE:
		snprintf(l->result.note, sizeof l->result.note, "%s: %s: %s", msg.step, msg.cause, strerror(msg.errnum));
		return;
	case AJ_MSG_LISTENER:
		take_listener(l, sender, msg.listener);
		return;
	case AJ_MSG_BOUND:
		on_bound(l, &msg);
		return;
	case AJ_MSG_BOUND_FILE:
		aj_result_bound(&l->result, l->plan, msg.cause, msg.errnum);
		return;
	case AJ_MSG_EXITED:
		l->facts.exited = true;
		l->facts.wait_status = msg.wait_status;
		l->facts.full = scratch_mount(l->plan, msg.step);
		return;
	default:
		aj_run_fail(l, "init sent a message that only we may send");
	}
}

/* `r` is what the pump said of it. False: nothing more can be taken now. */
static bool pumped(struct aj_run *l, const struct aj_pump *pump, int r)
{
	if (r < 0) {
		aj_fail(&l->result.setup, AJ_EXIT_SETUP, "output", errno,
		        "write on what the jail has written; what ran until then is done");
		aj_jail_kill(&l->jail);
	}
	if (l->policy->file_bytes && pump->total_bytes > l->policy->file_bytes)
		end(l, AJ_CAUSE_FILE);
	return r > 0;
}

/* Read what is there, once; false when nothing is. Closes the fd at its end. */
static bool on_output(struct aj_run *l, int *fd, int number)
{
	char chunk[AJ_CHUNK_BYTES];
	struct aj_output_buffer *capture = number == 1 ? &l->result.out : &l->result.err;
	struct aj_pump *pump = l->pump ? &l->pump[number - 1] : NULL;
	if (*fd < 0 || (pump && !pumped(l, pump, aj_pump_flush(pump))))
		return false;
	ssize_t n = read(*fd, chunk, sizeof chunk);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n < 0) /* output without some of it is not what the jail wrote */
		aj_run_fail(l, "the jail's output cannot be read; what ran until then is done");
	if (n <= 0) {
		let_go(l, number == 1 ? AJ_RUN_OUT : AJ_RUN_ERR, fd);
		return false;
	}
	if (pump && l->facts.cause == AJ_CAUSE_FILE) /* what is too much is not written */
		return true;
	if (pump)
		return pumped(l, pump, aj_pump_write(pump, chunk, (size_t)n));
	aj_output_buffer_add(capture, chunk, (size_t)n);
	if (l->output)
		l->output(number, chunk, (size_t)n, l->output_arg);
	if (l->plan->output_bytes && l->result.out.total_bytes + l->result.err.total_bytes > l->plan->output_bytes)
		end(l, AJ_CAUSE_OUTPUT);
	return true;
}

/* What somebody outside, who was handed our pipe, may still write is not waited for, and not counted beyond what a pipe holds. */
void aj_run_drain(struct aj_run *l)
{
	for (int i = 0; i < DRAIN_READS && on_output(l, &l->jail.stdout_fd, 1); i++)
		;
	for (int i = 0; i < DRAIN_READS && on_output(l, &l->jail.stderr_fd, 2); i++)
		;
}

/* The places of the workspace, as they are now. */
static void look_at_workspace(struct aj_run *l, bool jail_gone)
{
	json_decref(l->result.workspace);
	l->result.workspace = l->protect ? aj_protect_report(l->protect, jail_gone) : NULL;
}

/* A lasting jail has answered: what there is to say of this run is said now, while the jail is there. */
static void finish(struct aj_run *l)
{
	struct aj_leaf_usage now;
	l->running = false;
	l->soft_us = l->deadline_us = INT64_MAX;
	l->facts.alive = true;
	aj_leaf_read(l->jail.cgroup, &now);
	l->facts.leaf = now;
	aj_leaf_since(&l->facts.leaf, &l->leaf_before);
	aj_meter_read(l->channel.runner, l->cpu_before_us, &l->facts.usage);
	if (strcmp(aj_claim_status(l->result.claim), "error") == 0)
		l->facts.full = aj_meter_full(l->channel.runner, l->plan);
	l->result.wall_us = (uint64_t)(aj_now_us() - l->started_us);
	look_at_workspace(l, false);
	aj_verdict(&l->facts, l->plan, &l->result);
}

static void send_signal(const struct aj_run *l, int signal)
{
	syscall(SYS_pidfd_send_signal, l->jail.init_pidfd, signal, NULL, 0);
}

/* Once its end was asked for, nobody asks whether a runner is armed: it is killed, and the kernel has no word on the dead. */
static bool listens(const struct aj_run *l)
{
	return l->jail.control_fd >= 0 && !l->channel.ended && (l->channel.armed || !l->stopping);
}

static unsigned on_control(struct aj_run *l)
{
	bool started = l->channel.started;
	unsigned found = aj_channel_read(&l->channel), tell = 0;
	if (l->channel.started && !started)
		aj_interrupt_started(l);
	/* Before anything is sent that has the runner close its own. */
	if (found & AJ_CHANNEL_LISTENER)
		aj_violations_listen(&l->result.violations, &l->listener_fd, l->channel.says_listener, l->jail.init_pid,
		                     l->channel.listener);
	/* What the runner itself was refused is no deed of the code's. */
	if ((found & AJ_CHANNEL_ARMED) && l->jail.outside && aj_leaf_take(l->jail.cgroup, l->channel.runner) < 0) {
		aj_run_fail(l, "the jail's guest cannot be moved into its cgroup");
		return 0;
	}
	if (found & AJ_CHANNEL_ARMED) {
		l->leaf_before.pids_refused = aj_leaf_pids_refused(l->jail.cgroup);
		tell |= l->lasting ? AJ_RUN_ARMED : 0;
	}
	if (found & AJ_CHANNEL_FAILED)
		aj_jail_kill(&l->jail);
	if ((found & AJ_CHANNEL_BRANCHED) && l->fork_group)
		l->group->answered(l->fork_group, l);
	int64_t leave_us = aj_now_us() + LEAVE_US;
	if ((found & AJ_CHANNEL_ANSWERED) && !l->lasting && leave_us < l->deadline_us)
		l->deadline_us = leave_us;
	if (found & (AJ_CHANNEL_BROKEN | AJ_CHANNEL_REFUSED)) {
		/* Also when it is read only after the guest has gone: the verdict must not depend on who was quicker. */
		if (l->facts.cause == AJ_CAUSE_NONE)
			l->facts.cause = found & AJ_CHANNEL_REFUSED ? AJ_CAUSE_CALLS : AJ_CAUSE_PROTOCOL;
		stop(l);
	} else if ((found & AJ_CHANNEL_ANSWERED) && l->lasting && !l->stopping) {
		aj_run_drain(l);
		if (!l->stopping) { /* by what was still to be read: more than the limit of output */
			finish(l);
			tell |= AJ_RUN_ANSWERED;
		}
	}
	return tell;
}

void aj_run_open(struct aj_run *l, int filters)
{
	l->listener_fd = -1;
	l->soft_us = l->deadline_us = INT64_MAX;
	l->facts.cpu_limit_ms = l->policy->cpu_ms;
	l->facts.pids_limit = l->policy->pids;
	l->facts.file_limit_bytes = l->policy->file_bytes;
	l->result.out.cap_bytes = l->result.err.cap_bytes = l->plan->capture_bytes;
	filters += filters >= 0 ? l->jail.baseline : 0;
	if (aj_channel_open(&l->channel, &l->jail.control_fd, l->jail.init_pid, filters, l->plan->result_bytes, &l->result) & AJ_CHANNEL_FAILED)
		aj_jail_kill(&l->jail);
}

/* What was found out before the first run stays; what belonged to the last one goes. */
static void next_result(struct aj_run *l)
{
	struct aj_result *r = &l->result;
	uint64_t peak_bytes = r->peak_memory_bytes;
	/* After too many refusals nobody listens any more. */
	bool seen = r->violations.seen && (l->fork_group ? l->group->listens(l->fork_group) : l->listener_fd >= 0);
	char note[sizeof r->note], bound[sizeof r->bound];
	memcpy(note, r->note, sizeof note);
	memcpy(bound, r->bound, sizeof bound);
	aj_result_free(r);
	*r = (struct aj_result){ .out.cap_bytes = l->plan->capture_bytes, .err.cap_bytes = l->plan->capture_bytes, .violations.seen = seen };
	memcpy(r->note, note, sizeof note);
	memcpy(r->bound, bound, sizeof bound);
	l->facts = (struct aj_facts){ .cpu_limit_ms = l->facts.cpu_limit_ms,
		                      .pids_limit = l->facts.pids_limit,
		                      .file_limit_bytes = l->facts.file_limit_bytes };
	/* Only where it would be taken for this run's: asking costs as much as a tenth of a small snippet. */
	if (l->plan->memory_by_rlimit && peak_bytes > l->plan->memory_bytes / 2 && !aj_meter_forget_peak(l->channel.runner))
		l->facts.peak_before_bytes = peak_bytes;
	aj_leaf_read(l->jail.cgroup, &l->leaf_before);
	l->cpu_before_us = aj_meter_cpu_us(l->channel.runner);
}

int aj_run_begin(struct aj_run *l, const struct aj_request *request, uint64_t timeout_ms, int64_t started_us, struct aj_error *err)
{
	struct aj_request asked = *request;
	int64_t soft_us, wall_us;
	aj_interrupt_clocks(l->plan, asked.lasting, timeout_ms, &soft_us, &wall_us);
	asked.soft_ms = soft_us == INT64_MAX ? 0 : (uint64_t)soft_us / 1000;
	if (asked.snippet && aj_channel_request(&l->channel, l->lasting, l->plan, l->policy, &asked, err) < 0)
		return -1;
	if (l->lasting)
		next_result(l);
	if (asked.snippet && asked.code)
		aj_sha256(asked.code, asked.code_bytes, l->result.code_sha256);
	l->running = true;
	l->started_us = started_us;
	l->facts.wall_ms = wall_us == INT64_MAX ? 0 : (uint64_t)wall_us / 1000;
	l->soft_ms = asked.soft_ms;
	l->soft_us = soft_us == INT64_MAX ? INT64_MAX : started_us + soft_us;
	l->deadline_us = wall_us == INT64_MAX ? INT64_MAX : started_us + wall_us;
	return 0;
}

void aj_run_signal(struct aj_run *l, int signal)
{
	if (l->plan->snippet) {
		l->facts.interrupt_signal = signal;
		end(l, AJ_CAUSE_INTERRUPT);
	} else {
		send_signal(l, signal);
	}
}

void aj_run_end(struct aj_run *l)
{
	stop(l);
}

void aj_run_cheated(struct aj_run *l)
{
	end(l, AJ_CAUSE_LOCKS);
}

int64_t aj_run_deadline_us(const struct aj_run *l)
{
	int64_t first_us = l->soft_us < l->deadline_us ? l->soft_us : l->deadline_us, locks_us = aj_locks_deadline_us(&l->locks);
	return locks_us < first_us ? locks_us : first_us;
}

void aj_run_due(struct aj_run *l)
{
	int64_t now_us = aj_now_us();
	if (aj_locks_due(&l->locks, l->listener_fd))
		aj_run_cheated(l);
	if (now_us >= l->soft_us)
		aj_interrupt_due(l);
	if (now_us < l->deadline_us)
		return;
	l->deadline_us = INT64_MAX;
	if (l->stopping || l->facts.exited) {
		aj_jail_kill(&l->jail);
	} else if (l->channel.answered && !l->lasting) {
		/* With an answer in hand the run is over anyway; what is left in there does not change it. */
		l->facts.lingered = true;
		stop(l);
	} else {
		end(l, AJ_CAUSE_TIMEOUT);
	}
}

/* Init is gone, and all that it was for. What is in the channels now was written before. */
static void bury(struct aj_run *l)
{
	struct aj_jail *jail = &l->jail;
	while (jail->report_fd >= 0) {
		struct pollfd p = { .fd = jail->report_fd, .events = POLLIN };
		if (poll(&p, 1, 0) <= 0)
			break;
		on_report(l);
	}
	if (l->fork_group)
		l->group->on_exit(l->fork_group, l);
	bool lasting = l->lasting; /* what comes now is no answer of a jail that goes on */
	l->lasting = false;
	while (listens(l) && l->facts.cause == AJ_CAUSE_NONE) {
		struct pollfd p = { .fd = jail->control_fd, .events = POLLIN };
		if (poll(&p, 1, 0) <= 0)
			break;
		on_control(l);
	}
	l->lasting = lasting;
	for (int i = 0; l->pump && i < 2; i++)
		l->pump[i].last = true;
	aj_run_drain(l);
	if (l->mediator)
		aj_mediator_close(l->mediator);
	aj_locks_close(&l->locks);
	aj_close(&l->listener_fd);
	memcpy(l->facts.protocol_why, l->channel.why, sizeof l->facts.protocol_why);
	aj_leaf_read(jail->cgroup, &l->facts.leaf);
	aj_leaf_since(&l->facts.leaf, &l->leaf_before);
	if (jail->init_pidfd >= 0 && l->plan->snippet && l->facts.cause == AJ_CAUSE_NONE && !l->result.setup.exit_code)
		aj_channel_ended(&l->channel);
	aj_jail_end(jail, &l->facts.usage);
	l->result.wall_us = (uint64_t)(aj_now_us() - l->started_us);
	look_at_workspace(l, true);
	aj_protect_close(l->protect);
	l->protect = NULL;
	aj_channel_free(&l->channel);
	l->soft_us = l->deadline_us = INT64_MAX;
	l->gone = true;
	if (l->facts.alive) { /* what is known is of the last run, and not why the jail ended */
		l->facts.alive = false;
		l->facts.told = AJ_NOT_TOLD;
		l->result.reason[0] = '\0';
		json_decref(l->result.claim);
		l->result.claim = NULL;
	}
	aj_verdict(&l->facts, l->plan, &l->result);
}

/* While its pump is full, an output waits for the other side and not for the jail. */
static struct pollfd poll_output(const struct aj_run *l, int fd, int number)
{
	const struct aj_pump *pump = l->pump ? &l->pump[number - 1] : NULL;
	if (fd >= 0 && pump && pump->bytes)
		return (struct pollfd){ .fd = pump->fd, .events = POLLOUT };
	return (struct pollfd){ .fd = fd, .events = POLLIN };
}

/* Whatever the filter reports fails from now on. The connector has the listener too: nobody would wake who waits as long as it is open. */
static void stop_listening(struct aj_run *l)
{
	if (l->mediator) {
		if (l->closing)
			l->closing(l, AJ_RUN_CONNECTOR);
		aj_mediator_stop(l->mediator);
	}
	let_go(l, AJ_RUN_LISTENER, &l->listener_fd);
}

static bool mediate(void *arg, const struct aj_notification *call)
{
	struct aj_run *l = arg;
	const int pipes[AJ_LOCKABLE_PIPES] = { l->jail.stdout_fd, l->jail.stderr_fd };
	enum aj_lock lock = aj_locks_call(&l->locks, l->plan, pipes, l->listener_fd, call);
	if (lock == AJ_LOCK_CHEATED)
		aj_run_cheated(l);
	if (lock != AJ_LOCK_NONE)
		return lock == AJ_LOCK_SEEN_TO;
	return l->mediator && aj_mediator_call(l->mediator, l->plan, &l->jail, l->listener_fd, call);
}

static void on_listener(struct aj_run *l)
{
	const struct aj_handler handler = { mediate, l };
	/* What Python is refused while it starts is no deed of the code's. */
	struct aj_violations *counted = l->channel.armed || !l->plan->snippet ? &l->result.violations : NULL;
	if (!aj_violations_answer(counted, l->plan, l->listener_fd, &handler))
		stop_listening(l);
}

static void on_connector(struct aj_run *l)
{
	if (!aj_mediator_refused(l->mediator, &l->result.violations, l->plan, l->listener_fd))
		stop_listening(l);
}

void aj_run_poll(const struct aj_run *l, struct pollfd fds[AJ_RUN_FDS])
{
	const struct aj_jail *jail = &l->jail;
	fds[AJ_RUN_REPORT] = (struct pollfd){ .fd = jail->report_fd, .events = POLLIN };
	fds[AJ_RUN_CONTROL] = (struct pollfd){ .fd = listens(l) ? jail->control_fd : -1,
		                               .events = (short)(POLLIN | (aj_channel_writing(&l->channel) ? POLLOUT : 0)) };
	fds[AJ_RUN_OUT] = poll_output(l, jail->stdout_fd, 1);
	fds[AJ_RUN_ERR] = poll_output(l, jail->stderr_fd, 2);
	fds[AJ_RUN_LISTENER] = (struct pollfd){ .fd = l->listener_fd, .events = POLLIN };
	fds[AJ_RUN_CONNECTOR] = (struct pollfd){ .fd = l->mediator ? l->mediator->connector.socket : -1, .events = POLLIN };
	fds[AJ_RUN_INIT] = (struct pollfd){ .fd = jail->init_pidfd, .events = POLLIN };
}

unsigned aj_run_step(struct aj_run *l, const struct pollfd fds[AJ_RUN_FDS])
{
	struct aj_jail *jail = &l->jail;
	unsigned tell = 0;
	if (l->gone)
		return 0;
	if (fds[AJ_RUN_REPORT].revents && jail->report_fd >= 0)
		on_report(l);
	if (fds[AJ_RUN_CONTROL].revents & POLLOUT)
		aj_channel_write(&l->channel);
	if (fds[AJ_RUN_CONTROL].revents & ~POLLOUT && listens(l))
		tell |= on_control(l);
	if (l->channel.ended && jail->control_fd >= 0)
		let_go(l, AJ_RUN_CONTROL, &jail->control_fd);
	if (fds[AJ_RUN_OUT].revents)
		on_output(l, &jail->stdout_fd, 1);
	if (fds[AJ_RUN_ERR].revents)
		on_output(l, &jail->stderr_fd, 2);
	if (fds[AJ_RUN_LISTENER].revents && l->listener_fd >= 0)
		on_listener(l);
	if (fds[AJ_RUN_CONNECTOR].revents && l->mediator && l->mediator->connector.socket >= 0)
		on_connector(l);
	if (fds[AJ_RUN_INIT].revents) {
		bury(l);
		tell |= AJ_RUN_GONE;
	}
	return tell;
}

void aj_run_free(struct aj_run *l)
{
	aj_result_free(&l->result);
}
