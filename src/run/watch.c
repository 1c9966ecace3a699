/* One loop over everything that can happen to a running jail: output, messages, end, deadline, signals.
 * It never waits for an end of file or for the guest's good will: when init is gone, the run is over. */
#include "run/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"
#include "run/attest.h"
#include "run/verdict.h"
#include "run/wire.h"
#include "sandbox/cgroup.h"
#include "sandbox/handshake.h"
#include "sandbox/seccomp.h"

/* A runner that has sent its result has this long to leave by itself. */
enum { LEAVE_US = 200000 };
/* Init has this long to kill and count the jail's processes before it is killed itself. */
enum { STOP_US = 100000 };
/* A pipe holds at most 1 MiB, which is this many reads. */
enum { DRAIN_READS = 16 };

struct watch {
	struct aj_jail *jail;
	const struct aj_plan *plan;
	const struct aj_policy *policy;
	const struct aj_request *request;
	aj_output_fn *output;
	void *output_arg;
	struct aj_result *result;
	struct aj_facts facts;
	struct aj_buffer outbox;
	struct aj_buffer request_frame; /* composed while the jail is being built, held back until the runner is armed */
	struct aj_frame_reader inbox;
	size_t filters;                /* that the kernel must confirm: the plan's, and those that we run under ourselves */
	bool armed, started, answered; /* the runner's states, in this order */
	int64_t deadline_us;           /* INT64_MAX: none */
};

static void end(struct watch *w, enum aj_cause cause)
{
	if (w->facts.cause == AJ_CAUSE_NONE && !w->facts.exited) {
		w->facts.cause = cause;
		w->deadline_us = aj_now_us() + STOP_US;
		aj_jail_stop(w->jail);
	}
}

static void advise_rootfs(struct aj_result *result)
{
	aj_advise(&result->setup, "the rootfs does not fit: `agentjail rootfs verify`, or build it again");
}

static void fail_setup(struct watch *w, const char *step, const char *cause)
{
	aj_fail(&w->result->setup, AJ_EXIT_SETUP, step, 0, "%s", cause);
	aj_jail_kill(w->jail);
}

static void on_report(struct watch *w)
{
	struct aj_msg msg;
	int r = aj_msg_recv(w->jail->report_fd, &msg, MSG_DONTWAIT);
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
	case AJ_MSG_EXITED:
		w->facts.exited = true;
		w->facts.wait_status = msg.wait_status;
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

/* The runner says that it is armed; the kernel is asked whether that is so, before a byte of code is handed over. */
static void on_armed(struct watch *w, pid_t sender)
{
	const char *wrong = w->outbox.sent < w->outbox.bytes ? "the runner says that it is armed before it was sent its filters"
	                                                     : aj_attest(sender, w->filters);
	if (wrong) {
		fail_setup(w, "attest", wrong);
		return;
	}
	w->armed = true;
	free(w->outbox.data);
	w->outbox = w->request_frame;
	w->request_frame = (struct aj_buffer){ 0 };
}

/* What the jail wrote may be quoted in a reason, but nothing but plain characters gets there. */
static void quote(char *out, size_t out_bytes, const char *text)
{
	char *at = out;
	for (; *text && at < out + out_bytes - 1; text++)
		*at++ = (char)(*text >= ' ' && *text < 0x7f ? *text : '?');
	*at = '\0';
}

static void protocol_error(struct watch *w, const char *why)
{
	quote(w->facts.protocol_why, sizeof w->facts.protocol_why, why);
	/* Also when it is read only after the guest has gone: the verdict must not depend on who was quicker. */
	if (w->facts.cause == AJ_CAUSE_NONE)
		w->facts.cause = AJ_CAUSE_PROTOCOL;
	json_decref(w->result->claim); /* nothing of what such a jail said is passed on */
	w->result->claim = NULL;
	w->deadline_us = aj_now_us() + STOP_US;
	aj_jail_stop(w->jail);
}

static void on_frame(struct watch *w, pid_t sender)
{
	char why[160] = "a message out of order";
	if (w->inbox.kind == AJ_FRAME_ARMED && !w->armed) {
		on_armed(w, sender);
	} else if (w->inbox.kind == AJ_FRAME_FAILED && !w->armed) {
		char said[160];
		quote(said, sizeof said, w->inbox.body);
		fail_setup(w, "runner", said);
		advise_rootfs(w->result);
	} else if (w->inbox.kind == AJ_FRAME_STARTED && w->armed && !w->started && !w->answered) {
		w->started = true;
	} else if (w->inbox.kind == AJ_FRAME_RESULT && w->armed && !w->answered &&
	           (w->result->claim = aj_claim_parse(w->inbox.body, w->inbox.body_bytes, why, sizeof why))) {
		w->answered = true;
		if (w->started && strcmp(aj_claim_status(w->result->claim), "rejected") == 0)
			protocol_error(w, "`rejected` after the code was started");
		int64_t leave_us = aj_now_us() + LEAVE_US;
		if (leave_us < w->deadline_us)
			w->deadline_us = leave_us;
	} else {
		protocol_error(w, why);
	}
	aj_frame_next(&w->inbox);
}

static void on_control(struct watch *w)
{
	static char chunk[65536];
	union {
		char data[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} space;
	struct iovec iov = { chunk, sizeof chunk };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space.data, .msg_controllen = sizeof space.data };
	ssize_t n = recvmsg(w->jail->control_fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		aj_close(&w->jail->control_fd);
		return;
	}
	pid_t sender = 0;
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
		struct ucred cred;
		memcpy(&cred, CMSG_DATA(c), sizeof cred);
		sender = cred.pid;
	}
	for (ssize_t at = 0; at < n && w->facts.cause != AJ_CAUSE_PROTOCOL;) {
		bool done;
		long used = aj_frame_feed(&w->inbox, chunk + at, (size_t)(n - at), &done);
		if (used < 0) {
			protocol_error(w, "larger than a result may be");
			return;
		}
		at += used;
		if (done)
			on_frame(w, sender);
	}
}

static void on_writable(struct watch *w)
{
	struct aj_buffer *b = &w->outbox;
	ssize_t n = send(w->jail->control_fd, b->data + b->sent, b->bytes - b->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		aj_close(&w->jail->control_fd); /* it died; its end will tell why */
	if (n > 0)
		b->sent += (size_t)n;
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
	if (w->facts.lingered || w->facts.exited || w->facts.cause != AJ_CAUSE_NONE) {
		aj_jail_kill(w->jail);
	} else if (w->answered) {
		/* With an answer in hand the run is over anyway; what is left in there does not change it. */
		w->facts.lingered = true;
		w->deadline_us = aj_now_us() + STOP_US;
		aj_jail_stop(w->jail);
	} else {
		end(w, AJ_CAUSE_TIMEOUT);
	}
}

static void loop(struct watch *w, int signal_fd)
{
	struct aj_jail *jail = w->jail;
	for (;;) {
		bool writing = w->outbox.sent < w->outbox.bytes;
		struct pollfd fds[] = {
			{ .fd = jail->init_pidfd, .events = POLLIN },
			{ .fd = jail->report_fd, .events = POLLIN },
			{ .fd = jail->control_fd, .events = (short)(POLLIN | (writing ? POLLOUT : 0)) },
			{ .fd = jail->stdout_fd, .events = POLLIN },
			{ .fd = jail->stderr_fd, .events = POLLIN },
			{ .fd = signal_fd, .events = POLLIN },
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
			on_writable(w);
		if (fds[2].revents & ~POLLOUT && jail->control_fd >= 0)
			on_control(w);
		if (fds[3].revents)
			on_output(w, &jail->stdout_fd, 1);
		if (fds[4].revents)
			on_output(w, &jail->stderr_fd, 2);
		if (fds[5].revents)
			on_signal(w, signal_fd);
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
	struct watch w = { .jail = jail,
		           .plan = plan,
		           .policy = policy,
		           .request = request,
		           .output = output,
		           .output_arg = output_arg,
		           .result = ret,
		           .deadline_us = INT64_MAX };
	w.facts.cpu_limit_ms = policy->cpu_ms;
	w.inbox.cap_bytes = plan->result_bytes;
	ret->out.cap_bytes = ret->err.cap_bytes = plan->capture_bytes;
	if (plan->wall_ms)
		w.deadline_us = started_us + (int64_t)plan->wall_ms * 1000;
	sigset_t before;
	cleanup_fd int signal_fd = watched_signals(&before);
	if (jail->control_fd >= 0) {
		int on = 1;
		setsockopt(jail->control_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
		aj_wire_arm(&w.outbox, plan);
		if (aj_wire_request(&w.request_frame, plan, policy, request, &ret->setup) < 0)
			aj_jail_kill(jail);
		const struct aj_filter *filters[AJ_FILTERS_MAX];
		int own = aj_attest_own_filters();
		if (own < 0)
			fail_setup(&w, "attest", "the kernel does not count our own system call filters in /proc/self/status");
		w.filters = (size_t)own + aj_filter_list(plan->profile, plan->network, plan->deny, filters);
	}
	if (signal_fd < 0)
		fail_setup(&w, "watch", "signals cannot be watched");
	loop(&w, signal_fd);
	drain(&w);
	sigprocmask(SIG_SETMASK, &before, NULL);
	aj_cgroup_usage(jail->cgroup, &w.facts.cgroup_peak_bytes, &w.facts.cgroup_oom_kills);
	if (jail->init_pidfd >= 0 && plan->snippet && !w.armed && w.facts.cause == AJ_CAUSE_NONE && !ret->setup.exit_code) {
		aj_fail(&ret->setup, AJ_EXIT_SETUP, "runner", 0,
		        "Python ended before the runner had installed the filter; no code was handed over");
		advise_rootfs(ret);
	}
	aj_jail_end(jail, &w.facts.usage);
	ret->wall_us = (uint64_t)(aj_now_us() - started_us);
	aj_frame_next(&w.inbox);
	free(w.outbox.data);
	free(w.request_frame.data);
	*ret_facts = w.facts;
}
