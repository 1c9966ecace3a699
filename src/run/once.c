/* One request, one jail: launch, watch, end, in one poll() loop.
 * It decides nothing about walls (plan/) or verdicts (verdict.c) and leaves nothing behind. */
#include "run/once.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/attest.h"

/* But for those that the caller has us ignore, as nohup does. */
static int watched_signals(sigset_t *before)
{
	sigset_t set;
	struct sigaction now;
	sigemptyset(&set);
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (sigaction(signals[i], NULL, &now) < 0 || now.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* A terminal that lets nobody write from the background would stop us, and nobody would watch the jail. */
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, before);
	return fd;
}

/* To look for repositories in a workspace, before and after. */
enum { LOOK_MS = 5000 };

static void on_signal(struct aj_live *live, int fd)
{
	struct signalfd_siginfo info;
	if (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
		aj_live_signal(live, (int)info.ssi_signo);
}

static int timeout_ms(const struct aj_live *live)
{
	int64_t deadline_us = aj_live_deadline_us(live);
	if (deadline_us == INT64_MAX)
		return -1;
	int64_t left_us = deadline_us - aj_now_us();
	return left_us <= 0 ? 0 : (int)(left_us / 1000 < 1 << 30 ? left_us / 1000 + 1 : 1 << 30);
}

static void watch(struct aj_live *live)
{
	sigset_t before;
	cleanup_fd int signal_fd = watched_signals(&before);
	if (signal_fd < 0)
		aj_live_fail(live, "signals cannot be watched");
	while (!live->gone) {
		struct pollfd fds[AJ_LIVE_FDS + 1];
		aj_live_poll(live, fds);
		fds[AJ_LIVE_FDS] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
		int ready = poll(fds, AJ_LIVE_FDS + 1, timeout_ms(live));
		if (ready < 0 && errno != EINTR) {
			/* Killed, it can be waited for without looking. */
			aj_live_fail(live, "the jail cannot be waited for; what ran until then is done");
			for (int i = 0; i < AJ_LIVE_FDS; i++)
				fds[i].revents = i == AJ_LIVE_INIT ? POLLIN : 0;
			aj_live_step(live, fds);
		}
		if (ready > 0 && fds[AJ_LIVE_FDS].revents)
			on_signal(live, signal_fd);
		if (ready > 0)
			aj_live_step(live, fds);
		if (ready >= 0 && !live->gone && aj_now_us() >= aj_live_deadline_us(live))
			aj_live_due(live);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void aj_run_once(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                 aj_output_fn *output, void *output_arg, struct aj_result *ret)
{
	static struct aj_live live;
	static struct aj_pump pumps[2];
	static struct aj_mediator mediator;
	mediator = (struct aj_mediator){ .connector = { -1, -1 } };
	int64_t started_us = aj_now_us();
	struct aj_error err = { 0 };
	*ret = (struct aj_result){ 0 };
	live = (struct aj_live){ .plan = plan, .policy = policy, .output = output, .output_arg = output_arg };
	const struct aj_plan *launched;
	live.mediator = plan->snippet ? NULL : &mediator;
	if (plan->mediated)
		aj_mediator_open(&mediator, plan, &err);
	if (err.exit_code || aj_protect_open(&live.protect, plan, LOOK_MS, &launched, &err) < 0 ||
	    aj_launch(launched, &live.jail, &err) < 0) {
		if (live.mediator)
			aj_mediator_close(live.mediator);
		aj_protect_close(live.protect);
		ret->setup = err;
		if (request->snippet)
			aj_sha256(request->code, request->code_bytes, ret->code_sha256);
		aj_verdict(&(struct aj_facts){ 0 }, plan, ret);
		return;
	}
	for (int i = 0; plan->pump && i < 2; i++)
		aj_pump_open(&pumps[i], i + 1);
	live.pump = plan->pump ? pumps : NULL;
	aj_live_open(&live, request->snippet ? aj_attest_own_filters() : 0);
	if (request->snippet)
		aj_channel_arm(&live.channel, plan, policy, false);
	if (aj_live_run(&live, request, 0, started_us, &live.result.setup) < 0)
		aj_jail_kill(&live.jail);
	watch(&live);
	for (int i = 0; plan->pump && i < 2; i++)
		aj_pump_close(&pumps[i]);
	*ret = live.result;
}
