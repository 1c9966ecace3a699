/* Reads the messages of a jail on its two sockets: init's reports, and the runner's messages by way of jail/channel/channel.
 * Believes neither: the kernel is asked for a listener, and a message out of order ends the jail. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "jail/inner.h"
#include "jail/interrupt.h"
#include "jail/usage.h"
#include "sandbox/cgroup/leaf.h"
#include "sandbox/handshake.h"
#include "sandbox/mediate/violations.h"

/* A runner that has sent its last result has this long to exit by itself. */
enum { LEAVE_US = 200000 };

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
	if (!aj_result_bound(&run->result, run->built.plan, msg->cause, msg->errnum) || !run->mediator || aj_built_mediated(&run->built))
		return;
	run->built.reaches_sockets = true;
	run->result.unheard = run->built.plan->in_reach.unheard;
	if (aj_built_mediated(&run->built) && aj_mediator_open(run->mediator, run->built.plan, &err) < 0) {
		run->result.setup = err;
		aj_jail_kill(&run->jail);
	}
}

void aj_run_on_report(struct aj_run *run)
{
	struct aj_msg msg;
	struct aj_passed passed;
	pid_t sender;
	int r = aj_msg_recv_from(run->jail.report_fd, &msg, MSG_DONTWAIT, &sender, &passed);
	if (r > 0 && msg.kind == AJ_MSG_SOCKETS)
		aj_run_on_sockets(run, &passed);
	else if (r > 0 && msg.kind == AJ_MSG_TERMINAL)
		aj_run_on_terminal(run, &passed);
	while (passed.count)
		aj_close(&passed.fds[--passed.count]);
	/* Init died with an unread message of ours: ECONNRESET comes once, before init's last messages. */
	if (r < 0 && (errno == EAGAIN || errno == ECONNRESET))
		return;
	if (r <= 0) {
		aj_run_close(run, AJ_RUN_REPORT, &run->jail.report_fd);
		return;
	}
	switch (msg.kind) {
	case AJ_MSG_FAILED:
		aj_msg_error(&msg, &run->result.setup);
		return;
	case AJ_MSG_NOTE:
		snprintf(run->result.note, sizeof run->result.note, "%s: %s: %s", msg.step, msg.cause, strerror(msg.errnum));
		return;
	case AJ_MSG_SOCKETS: /* above */
	case AJ_MSG_TERMINAL:
		return;
	case AJ_MSG_STOPPED:
		aj_run_on_stopped(run, msg.wait_status);
		return;
	case AJ_MSG_LISTENER:
		take_listener(run, sender, msg.listener);
		return;
	case AJ_MSG_BOUND:
		on_bound(run, &msg);
		return;
	case AJ_MSG_BOUND_FILE:
		aj_result_bound(&run->result, run->built.plan, msg.cause, msg.errnum);
		return;
	case AJ_MSG_EXITED:
		run->facts.exited = true;
		run->facts.wait_status = msg.wait_status;
		run->facts.full = scratch_mount(run->built.plan, msg.step);
		return;
	default:
		aj_run_fail(run, "init sent a message that only the supervisor may send");
	}
}

/* A jail that is being ended is not attested any more: the kernel has no /proc/PID/status of the dead. */
bool aj_run_reads_control(const struct aj_run *run)
{
	return run->jail.control_fd >= 0 && !run->channel.ended && (run->channel.armed || !run->stopping);
}

unsigned aj_run_on_control(struct aj_run *run)
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
	/* A cold jail's init gets its affinity before it starts. */
	if ((found & AJ_CHANNEL_ARMED) && run->jail.holder && aj_jail_set_affinity(run->channel.runner, run->built.plan->processors) < 0) {
		aj_run_fail(run, "the processor affinity of the jail's guest cannot be set");
		return 0;
	}
	/* Before the code is sent: the mounts are as they were built. */
	if ((found & AJ_CHANNEL_ARMED) && run->wants_files && aj_run_take_scratch(run, &run->result.setup) < 0) {
		aj_jail_kill(&run->jail);
		return 0;
	}
	if (found & AJ_CHANNEL_ARMED) {
		/* Refusals before the runner was armed are not the code's. */
		run->leaf_before.pids_refused = aj_leaf_pids_refused(run->jail.cgroup);
	}
	if ((found & AJ_CHANNEL_ARMED) && run->lasting) {
		ret |= AJ_RUN_ARMED;
		aj_meter_open(run->channel.runner, &run->status_fd); /* ahead of the first snippet, which need not wait for it */
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
		aj_run_end(run);
	} else if ((found & AJ_CHANNEL_ANSWERED) && run->lasting && !run->stopping) {
		aj_run_drain(run);
		if (!run->stopping) { /* the drained output may have exceeded the limit */
			aj_run_conclude(run);
			ret |= AJ_RUN_ANSWERED;
		}
	}
	return ret;
}
