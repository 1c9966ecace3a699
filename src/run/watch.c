/* One loop over everything that can happen to a running jail: output, messages, end, deadline, signals.
 * It never waits for an end of file or for the guest's good will: when init is gone, the run is over. */
#include "run/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/channel.h"
#include "run/verdict.h"
#include "run/violations.h"
#include "sandbox/handshake.h"
#include "sandbox/leaf.h"

/* A runner that has sent its result has this long to leave by itself. */
enum { LEAVE_US = 200000 };
/* Init has this long to kill and count the jail's processes before it is killed itself. */
enum { STOP_US = 100000 };
/* A pipe holds at most 1 MiB, which is this many reads. */
enum { DRAIN_READS = 16 };

struct watch {
	struct aj_jail *jail;
	const struct aj_plan *plan;
	aj_output_fn *output;
	void *output_arg;
	struct aj_result *result;
	struct aj_facts facts;
	struct aj_channel channel;
	int listener_fd;              /* reports what the filter refuses; -1: nobody listens */
	uint64_t pids_refused_before; /* up to the moment when the code was handed over */
	bool stopping;
	int64_t deadline_us; /* INT64_MAX: none */
};

/* Init ends everything; what then is still there is killed. Once: nothing that the jail does gives it more time. */
static void stop(struct watch *w)
{
	if (w->stopping)
		return;
	w->stopping = true;
	w->deadline_us = aj_now_us() + STOP_US;
	aj_jail_stop(w->jail);
}

static void end(struct watch *w, enum aj_cause cause)
{
	if (w->facts.cause == AJ_CAUSE_NONE && !w->facts.exited) {
		w->facts.cause = cause;
		stop(w);
	}
}

static void fail_setup(struct watch *w, const char *step, const char *cause)
{
	aj_fail(&w->result->setup, AJ_EXIT_SETUP, step, 0, "%s", cause);
	aj_jail_kill(w->jail);
}

/* The plan's own word for it, NULL for "". */
static const char *scratch_mount(const struct aj_plan *plan, const char *target)
{
	for (size_t i = 0; i < plan->mounts.count; i++)
		if (plan->mounts.items[i].kind == AJ_MOUNT_TMPFS && strcmp(plan->mounts.items[i].target, target) == 0)
			return plan->mounts.items[i].target;
	return NULL;
}

static void on_report(struct watch *w)
{
	struct aj_msg msg;
	int fd, r = aj_msg_recv_fd(w->jail->report_fd, &msg, MSG_DONTWAIT, &fd);
	if (fd >= 0)
		aj_violations_listen(&w->result->violations, &w->listener_fd, fd,
		                     r > 0 && msg.kind == AJ_MSG_LISTENER && !w->plan->snippet);
	/* Init died with a message of ours unread: that error comes once, before what it had sent. */
	if (r < 0 && (errno == EAGAIN || errno == ECONNRESET))
		return;
	if (r <= 0) {
		aj_close(&w->jail->report_fd);
		return;
	}
	switch (msg.kind) {
	case AJ_MSG_FAILED:
		aj_fail(&w->result->setup, msg.exit_code, msg.step, msg.errnum, "%s", msg.cause);
		if (msg.fix[0])
			aj_advise(&w->result->setup, "%s", msg.fix);
		return;
	case AJ_MSG_NOTE:
		snprintf(w->result->note, sizeof w->result->note, "%s: %s: %s", msg.step, msg.cause, strerror(msg.errnum));
		return;
	case AJ_MSG_LISTENER:
		return;
	case AJ_MSG_EXITED:
		w->facts.exited = true;
		w->facts.wait_status = msg.wait_status;
		w->facts.full = scratch_mount(w->plan, msg.step);
		return;
	default:
		fail_setup(w, "report", "init sent a message that only we may send");
	}
}

/* Read what is there, once. Closes the fd at its end. */
static void on_output(struct watch *w, int *fd, int number)
{
	static char chunk[65536];
	struct aj_capture *capture = number == 1 ? &w->result->out : &w->result->err;
	if (*fd < 0)
		return;
	ssize_t n = read(*fd, chunk, sizeof chunk);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) /* output without some of it is not what the jail wrote */
		fail_setup(w, "watch", "the jail's output cannot be read; what ran until then is done");
	if (n <= 0) {
		aj_close(fd);
		return;
	}
	aj_capture_add(capture, chunk, (size_t)n);
	if (w->output)
		w->output(number, chunk, (size_t)n, w->output_arg);
	if (w->plan->output_bytes && w->result->out.total_bytes + w->result->err.total_bytes > w->plan->output_bytes)
		end(w, AJ_CAUSE_OUTPUT);
}

static void on_control(struct watch *w)
{
	bool armed = w->channel.armed;
	unsigned found = aj_channel_read(&w->channel);
	/* What the runner itself was refused, such as a process to hand its listener over, is no deed of the code's. */
	if (w->channel.armed && !armed) {
		struct aj_leaf_usage so_far;
		aj_leaf_read(w->jail->cgroup, &so_far);
		w->pids_refused_before = so_far.pids_refused;
	}
	if (found & AJ_CHANNEL_FAILED)
		aj_jail_kill(w->jail);
	int64_t leave_us = aj_now_us() + LEAVE_US;
	if ((found & AJ_CHANNEL_ANSWERED) && leave_us < w->deadline_us)
		w->deadline_us = leave_us;
	if (found & AJ_CHANNEL_BROKEN) {
		/* Also when it is read only after the guest has gone: the verdict must not depend on who was quicker. */
		if (w->facts.cause == AJ_CAUSE_NONE)
			w->facts.cause = AJ_CAUSE_PROTOCOL;
		stop(w);
	}
}

static void on_signal(struct watch *w, int fd)
{
	struct signalfd_siginfo info;
	if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
		return;
	if (w->plan->snippet) {
		w->facts.interrupt_signal = (int)info.ssi_signo;
		end(w, AJ_CAUSE_INTERRUPT);
	} else {
		syscall(SYS_pidfd_send_signal, w->jail->init_pidfd, (int)info.ssi_signo, NULL, 0);
	}
}

static int timeout_ms(const struct watch *w)
{
	if (w->deadline_us == INT64_MAX)
		return -1;
	int64_t left_us = w->deadline_us - aj_now_us();
	return left_us <= 0 ? 0 : (int)(left_us / 1000 < 1 << 30 ? left_us / 1000 + 1 : 1 << 30);
}

static void on_deadline(struct watch *w)
{
	w->deadline_us = INT64_MAX;
	if (w->stopping || w->facts.exited) {
		aj_jail_kill(w->jail);
	} else if (w->channel.answered) {
		/* With an answer in hand the run is over anyway; what is left in there does not change it. */
		w->facts.lingered = true;
		stop(w);
	} else {
		end(w, AJ_CAUSE_TIMEOUT);
	}
}

static void loop(struct watch *w, int signal_fd)
{
	struct aj_jail *jail = w->jail;
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = jail->init_pidfd, .events = POLLIN },
			{ .fd = jail->report_fd, .events = POLLIN },
			{ .fd = jail->control_fd, .events = (short)(POLLIN | (aj_channel_writing(&w->channel) ? POLLOUT : 0)) },
			{ .fd = jail->stdout_fd, .events = POLLIN },
			{ .fd = jail->stderr_fd, .events = POLLIN },
			{ .fd = signal_fd, .events = POLLIN },
			{ .fd = w->listener_fd, .events = POLLIN },
		};
		int ready = poll(fds, sizeof fds / sizeof *fds, timeout_ms(w));
		if (ready < 0 && errno != EINTR) {
			fail_setup(w, "watch", "the jail cannot be waited for; what ran until then is done");
			return;
		}
		if (ready <= 0) {
			if (ready == 0)
				on_deadline(w);
			continue;
		}
		if (fds[1].revents)
			on_report(w);
		if (fds[2].revents & POLLOUT)
			aj_channel_write(&w->channel);
		if (fds[2].revents & ~POLLOUT && jail->control_fd >= 0)
			on_control(w);
		if (fds[3].revents)
			on_output(w, &jail->stdout_fd, 1);
		if (fds[4].revents)
			on_output(w, &jail->stderr_fd, 2);
		if (fds[5].revents)
			on_signal(w, signal_fd);
		if (fds[6].revents)
			aj_violations_answer(&w->result->violations, w->plan, &w->listener_fd);
		if (fds[0].revents)
			return;
		if (w->deadline_us != INT64_MAX && aj_now_us() >= w->deadline_us)
			on_deadline(w);
	}
}

/* Init is gone, and all that it was for. What is in the channels now was written before; what somebody outside, who was
 * handed our pipe, may still write is not waited for, and not counted beyond what a pipe can hold. */
static void drain(struct watch *w)
{
	struct aj_jail *jail = w->jail;
	while (jail->report_fd >= 0) {
		struct pollfd p = { .fd = jail->report_fd, .events = POLLIN };
		if (poll(&p, 1, 0) <= 0)
			break;
		on_report(w);
	}
	while (jail->control_fd >= 0 && w->facts.cause == AJ_CAUSE_NONE) {
		struct pollfd p = { .fd = jail->control_fd, .events = POLLIN };
		if (poll(&p, 1, 0) <= 0)
			break;
		on_control(w);
	}
	for (int i = 0; i < DRAIN_READS; i++) {
		on_output(w, &jail->stdout_fd, 1);
		on_output(w, &jail->stderr_fd, 2);
	}
}

static int watched_signals(sigset_t *before)
{
	sigset_t set;
	sigemptyset(&set);
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, before);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void aj_watch(struct aj_jail *jail, const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
              aj_output_fn *output, void *output_arg, int64_t started_us, struct aj_result *ret, struct aj_facts *ret_facts)
{
	struct watch w = {
		.jail = jail, .plan = plan, .output = output, .output_arg = output_arg, .result = ret, .listener_fd = -1, .deadline_us = INT64_MAX
	};
	w.facts.cpu_limit_ms = policy->cpu_ms;
	w.facts.pids_limit = policy->pids;
	w.facts.file_limit_bytes = policy->file_bytes;
	ret->out.cap_bytes = ret->err.cap_bytes = plan->capture_bytes;
	if (plan->wall_ms)
		w.deadline_us = started_us + (int64_t)plan->wall_ms * 1000;
	sigset_t before;
	cleanup_fd int signal_fd = watched_signals(&before);
	if (aj_channel_open(&w.channel, &jail->control_fd, &w.listener_fd, plan, policy, request, ret) & AJ_CHANNEL_FAILED)
		aj_jail_kill(jail);
	if (signal_fd < 0)
		fail_setup(&w, "watch", "signals cannot be watched");
	loop(&w, signal_fd);
	drain(&w);
	aj_close(&w.listener_fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	memcpy(w.facts.protocol_why, w.channel.why, sizeof w.facts.protocol_why);
	aj_leaf_read(jail->cgroup, &w.facts.leaf);
	if (w.facts.leaf.pids_refused >= w.pids_refused_before)
		w.facts.leaf.pids_refused -= w.pids_refused_before;
	if (jail->init_pidfd >= 0 && plan->snippet && w.facts.cause == AJ_CAUSE_NONE && !ret->setup.exit_code)
		aj_channel_ended(&w.channel);
	aj_jail_end(jail, &w.facts.usage);
	ret->wall_us = (uint64_t)(aj_now_us() - started_us);
	aj_channel_free(&w.channel);
	*ret_facts = w.facts;
}
