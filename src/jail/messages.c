/* Reads the messages of a jail on its two sockets: init's reports, and the runner's messages through jail/channel/channel.
 * Trusts neither: the kernel is asked for a listener, and a message out of order ends the jail. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "jail/interrupt.h"
#include "jail/jail_inner.h"
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
static void take_listener(struct aj_jail *jail, pid_t guest, int number)
{
	static const struct aj_msg taken = { .kind = AJ_MSG_TAKEN };
	aj_violations_listen(&jail->outcome.result.violations, &jail->calls.listener_fd, guest, jail->process.init_pid, number);
	ssize_t sent = send(jail->process.report_fd, &taken, sizeof taken, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0 && errno != EPIPE && errno != ECONNRESET)
		aj_jail_fail(jail, errno == EAGAIN ? "init does not read what it is answered" : "init cannot be answered");
}

/* A folder could not be shown through an overlay, so socket files of the host may be reachable: a command's filter reports
 * connects, and a snippet's refuses sockets. */
static void on_bound(struct aj_jail *jail, const struct aj_msg *msg)
{
	struct aj_error err = { 0 };
	if (!aj_result_note_no_overlay(&jail->outcome.result, jail->built.plan, msg->cause, msg->errnum) ||
	    aj_built_mediated(&jail->built))
		return;
	jail->built.reaches_sockets = true;
	jail->outcome.result.sockets = &jail->built.plan->in_reach;
	if (aj_built_mediated(&jail->built) && aj_mediator_open(jail->calls.mediator, jail->built.plan, &err) < 0) {
		jail->outcome.result.setup = err;
		aj_process_kill(&jail->process);
	}
}

void aj_jail_on_report(struct aj_jail *jail)
{
	struct aj_msg msg;
	struct aj_passed passed;
	pid_t sender;
	int r = aj_msg_recv_from(jail->process.report_fd, &msg, MSG_DONTWAIT, &sender, &passed);
	if (r > 0 && msg.kind == AJ_MSG_SOCKETS)
		aj_jail_on_sockets(jail, &passed);
	else if (r > 0 && msg.kind == AJ_MSG_TERMINAL)
		aj_jail_on_terminal(jail, &passed);
	while (passed.count)
		aj_close(&passed.fds[--passed.count]);
	/* Init died with an unread message of ours: ECONNRESET comes once, before init's last messages. */
	if (r < 0 && (errno == EAGAIN || errno == ECONNRESET))
		return;
	if (r <= 0) {
		aj_jail_close(jail, AJ_JAIL_REPORT, &jail->process.report_fd);
		return;
	}
	switch (msg.kind) {
	case AJ_MSG_FAILED:
		aj_msg_error(&msg, &jail->outcome.result.setup);
		return;
	case AJ_MSG_NOTE:
		snprintf(jail->outcome.result.note, sizeof jail->outcome.result.note, "%s: %s: %s", msg.step, msg.cause,
		         strerror(msg.errnum));
		return;
	case AJ_MSG_SOCKETS: /* above */
	case AJ_MSG_TERMINAL:
		return;
	case AJ_MSG_STOPPED:
		aj_jail_on_stopped(jail, msg.wait_status);
		return;
	case AJ_MSG_LISTENER:
		take_listener(jail, sender, msg.listener);
		return;
	case AJ_MSG_BOUND:
		on_bound(jail, &msg);
		return;
	case AJ_MSG_BOUND_FILE:
		aj_result_note_no_overlay(&jail->outcome.result, jail->built.plan, msg.cause, msg.errnum);
		return;
	case AJ_MSG_EXITED:
		jail->outcome.facts.exited = true;
		jail->outcome.facts.wait_status = msg.wait_status;
		jail->outcome.facts.full = scratch_mount(jail->built.plan, msg.step);
		return;
	default:
		aj_jail_fail(jail, "init sent a message that only the supervisor may send");
	}
}

/* A jail that is being ended is not attested any more: the kernel has no /proc/PID/status of the dead. */
bool aj_jail_reads_control(const struct aj_jail *jail)
{
	return jail->process.control_fd >= 0 && !jail->channel.ended && (jail->channel.armed || !jail->stopping);
}

unsigned aj_jail_on_control(struct aj_jail *jail)
{
	bool started = jail->channel.started;
	unsigned found = aj_channel_read(&jail->channel), ret = 0;
	if (jail->channel.started && !started)
		aj_interrupt_started(jail);
	/* Before anything is sent that makes the runner close its own copy. */
	if (found & AJ_CHANNEL_LISTENER)
		aj_violations_listen(&jail->outcome.result.violations, &jail->calls.listener_fd, jail->channel.listener_sender,
		                     jail->process.init_pid, jail->channel.listener);
	if ((found & AJ_CHANNEL_ARMED) && jail->process.outside && aj_leaf_take(jail->process.cgroup, jail->channel.runner) < 0) {
		aj_jail_fail(jail, "the jail's guest cannot be moved into its cgroup");
		return 0;
	}
	/* A cold jail's init gets its affinity before it starts. */
	if ((found & AJ_CHANNEL_ARMED) && jail->process.holder &&
	    aj_process_set_affinity(jail->channel.runner, jail->built.plan->processors) < 0) {
		aj_jail_fail(jail, "the processor affinity of the jail's guest cannot be set");
		return 0;
	}
	/* Before the code is sent: the mounts are as they were built. */
	if ((found & AJ_CHANNEL_ARMED) && jail->files.wanted && aj_jail_take_scratch(jail, &jail->outcome.result.setup) < 0) {
		aj_process_kill(&jail->process);
		return 0;
	}
	if (found & AJ_CHANNEL_ARMED) {
		/* Refusals before the runner was armed are not the code's. */
		jail->outcome.leaf_before.pids_refused = aj_leaf_pids_refused(jail->process.cgroup);
	}
	if ((found & AJ_CHANNEL_ARMED) && jail->lasting) {
		ret |= AJ_JAIL_ARMED;
		/* Before the first snippet, which then need not wait for it. */
		aj_meter_open(jail->channel.runner, &jail->outcome.status_fd);
	}
	if (found & AJ_CHANNEL_FAILED)
		aj_process_kill(&jail->process);
	if ((found & AJ_CHANNEL_BRANCHED) && jail->fork.group)
		jail->fork.functions->answered(jail->fork.group, jail);
	int64_t leave_us = aj_now_us() + LEAVE_US;
	if ((found & AJ_CHANNEL_ANSWERED) && !jail->lasting && leave_us < jail->deadlines.kill_us)
		jail->deadlines.kill_us = leave_us;
	if (found & (AJ_CHANNEL_BROKEN | AJ_CHANNEL_REFUSED)) {
		/* Also when the message is read only after the guest has gone: the verdict must not depend on timing. */
		if (jail->outcome.facts.cause == AJ_CAUSE_NONE)
			jail->outcome.facts.cause = found & AJ_CHANNEL_REFUSED ? AJ_CAUSE_CALLS : AJ_CAUSE_PROTOCOL;
		aj_jail_end(jail);
	} else if ((found & AJ_CHANNEL_ANSWERED) && jail->lasting && !jail->stopping) {
		aj_jail_drain(jail);
		if (!jail->stopping) { /* the drained output may have exceeded the limit */
			aj_jail_conclude(jail);
			ret |= AJ_JAIL_ANSWERED;
		}
	}
	return ret;
}
