/* One request, one jail: launch, watch, end, in one poll() loop.
 * Decides nothing about walls (plan/) or verdicts (result/verdict.c), and leaves nothing behind. */
#include "jail/once.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/procfs.h"

/* Except for signals that the caller ignores, as nohup does. */
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
	/* A terminal with TOSTOP would stop us for writing from the background, and the jail would be unwatched. */
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, before);
	return fd;
}

/* Time for the search for repositories in a workspace, before and after. */
enum { SEARCH_MS = 5000 };

static void on_signal(struct aj_run *run, int fd)
{
	struct signalfd_siginfo info;
	if (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
		aj_run_signal(run, (int)info.ssi_signo);
}

static int timeout_ms(const struct aj_run *run)
{
	int64_t deadline_us = aj_run_deadline_us(run);
	if (deadline_us == INT64_MAX)
		return -1;
	int64_t left_us = deadline_us - aj_now_us();
	return left_us <= 0 ? 0 : (int)(left_us / 1000 < 1 << 30 ? left_us / 1000 + 1 : 1 << 30);
}

static void watch_run(struct aj_run *run)
{
	sigset_t before;
	cleanup_fd int signal_fd = watched_signals(&before);
	if (signal_fd < 0)
		aj_run_fail(run, "signals cannot be watched");
	while (!run->gone) {
		struct pollfd fds[AJ_RUN_FDS + 1];
		aj_run_poll(run, fds);
		fds[AJ_RUN_FDS] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
		int ready = poll(fds, AJ_RUN_FDS + 1, timeout_ms(run));
		if (ready < 0 && errno != EINTR) {
			/* Once killed, the jail can be reaped without poll(). */
			aj_run_fail(run, "the jail cannot be waited for; what ran until then is done");
			for (int i = 0; i < AJ_RUN_FDS; i++)
				fds[i].revents = i == AJ_RUN_INIT ? POLLIN : 0;
			aj_run_step(run, fds);
		}
		if (ready > 0 && fds[AJ_RUN_FDS].revents)
			on_signal(run, signal_fd);
		if (ready > 0)
			aj_run_step(run, fds);
		if (ready >= 0 && !run->gone && aj_now_us() >= aj_run_deadline_us(run))
			aj_run_due(run);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void aj_run_once(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                 aj_output_fn *output, void *output_arg, struct aj_result *ret)
{
	static struct aj_run run;
	static struct aj_pump pumps[2];
	static struct aj_mediator mediator;
	mediator = (struct aj_mediator){ .connector = { -1, -1 } };
	int64_t started_us = aj_now_us();
	struct aj_error err = { 0 };
	*ret = (struct aj_result){ 0 };
	run = (struct aj_run){ .plan = plan, .policy = policy, .output = output, .output_arg = output_arg };
	const struct aj_plan *launched;
	run.mediator = plan->snippet ? NULL : &mediator;
	if (plan->mediated)
		aj_mediator_open(&mediator, plan, &err);
	if (err.exit_code || aj_protect_open(&run.protect, plan, SEARCH_MS, &launched, &err) < 0 ||
	    aj_launch(launched, &run.jail, &err) < 0) {
		if (run.mediator)
			aj_mediator_close(run.mediator);
		aj_protect_close(run.protect);
		ret->setup = err;
		if (request->snippet)
			aj_sha256(request->code, request->code_bytes, ret->code_sha256);
		aj_verdict(&(struct aj_facts){ 0 }, plan, ret);
		return;
	}
	for (int i = 0; plan->pump && i < 2; i++)
		aj_pump_open(&pumps[i], i + 1);
	run.pump = plan->pump ? pumps : NULL;
	aj_run_open(&run, request->snippet ? aj_procfs_own_filters() : 0);
	if (request->snippet)
		aj_channel_arm(&run.channel, plan, policy, false);
	if (aj_run_begin(&run, request, 0, started_us, &run.result.setup) < 0)
		aj_jail_kill(&run.jail);
	watch_run(&run);
	for (int i = 0; plan->pump && i < 2; i++)
		aj_pump_close(&pumps[i]);
	*ret = run.result;
}
