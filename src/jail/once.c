/* One request, one jail, one loop: launch, watch, end.
 * Decides nothing about walls (policy/plan/) or verdicts (jail/result/verdict.c), and leaves nothing behind. */
#include "jail/once.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/procfs.h"
#include "jail/pty/relay.h"
#include "sandbox/mediate/inherited_sockets.h"

/* Except for signals that the caller ignores, as nohup does. */
static int watched_signals(bool terminal, sigset_t *before)
{
	sigset_t set;
	struct sigaction now;
	sigemptyset(&set);
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (sigaction(signals[i], NULL, &now) < 0 || now.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	static const int relayed[] = { SIGWINCH, SIGTSTP, SIGCONT };
	for (size_t i = 0; terminal && i < sizeof relayed / sizeof *relayed; i++)
		if (relayed[i] != SIGTSTP || (sigaction(SIGTSTP, NULL, &now) == 0 && now.sa_handler != SIG_IGN))
			sigaddset(&set, relayed[i]);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* A terminal with TOSTOP would stop us for writing from the background, and the jail would be unwatched. */
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, before);
	return fd;
}

/* Time for the search for repositories in a workspace, before and after. */
enum { SEARCH_MS = 5000 };
/* Time for measuring a workspace, before and after. */
enum { MEASURE_MS = 1000 };

static void on_signal(struct aj_io *io, uint32_t events)
{
	struct signalfd_siginfo info;
	(void)events;
	if (read(io->fd, &info, sizeof info) != (ssize_t)sizeof info)
		return;
	if (info.ssi_signo == SIGWINCH || info.ssi_signo == SIGTSTP || info.ssi_signo == SIGCONT)
		aj_run_terminal_signal(io->arg, (int)info.ssi_signo);
	else
		aj_run_signal(io->arg, (int)info.ssi_signo);
}

static void watch_run(struct aj_run *run)
{
	sigset_t before;
	cleanup_fd int signal_fd = watched_signals(run->pty, &before);
	/* Urgent: a signal that also ended the runner is not taken for the runner's own failure. */
	struct aj_io signals = { .fn = on_signal, .arg = run, .fd = -1, .urgent = true };
	if (signal_fd < 0 || aj_loop_watch(run->loop, &signals, signal_fd, EPOLLIN) < 0)
		aj_run_fail(run, "signals cannot be watched");
	while (!run->gone)
		if (aj_loop_turn(run->loop, INT64_MAX) < 0) {
			aj_run_fail(run, "the jail cannot be waited for; the program ran until then");
			aj_run_kill(run);
		}
	aj_loop_unwatch(run->loop, &signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The jail, and what serves its published ports before it begins. */
static int launch_published(struct aj_run *run, struct aj_publish *publish, struct aj_error *err)
{
	const struct aj_plan *plan = run->built.plan;
	if (aj_publish_open(publish, plan, err) < 0 || aj_launch(&run->built, &run->jail, err) < 0)
		return -1;
	if (!plan->publish.count ||
	    (aj_publish_start(publish, plan, run->jail.user_ns, run->jail.net_ns, (unsigned)run->policy->connections, err) == 0 &&
	     aj_jail_go(&run->jail, err) == 0))
		return 0;
	aj_jail_kill(&run->jail);
	aj_jail_end(&run->jail, NULL);
	return -1;
}

static int launch_jail(struct aj_run *run, const struct aj_request *request, struct aj_publish *publish, struct aj_error *err)
{
	const struct aj_plan *plan = run->built.plan;
	if (!(run->loop = aj_loop_new()))
		return aj_fail(err, AJ_EXIT_SETUP, "watch", errno, "make an event loop");
	if (aj_asker_open(&run->asker, run->loop, plan, run->policy, request, run->output || !plan->capture, err) < 0)
		return -1;
	if (aj_given_check(plan, err) < 0 || (plan->mediated && aj_mediator_open(run->mediator, plan, err) < 0))
		return -1;
	if (aj_view_open(&run->view, &run->built, request, err) < 0 || aj_protect_open(&run->protect, &run->built, SEARCH_MS, err) < 0 ||
	    aj_growth_open(&run->growth, &run->built, &aj_growth_alone, MEASURE_MS, err) < 0)
		return -1;
	return launch_published(run, publish, err);
}

/* No process of the jail is left, so nothing changes meanwhile. */
static void collect_output(struct aj_run *run, const struct aj_request *request)
{
	struct aj_collect *collect = aj_run_collect(run, request);
	struct aj_collected found;
	if (collect) {
		aj_collect_turn(collect, INT64_MAX);
		aj_collect_end(collect, &found);
		run->result.files = found.files;
		run->result.files_skipped = found.skipped;
	}
	aj_scratch_close(&run->scratch);
}

void aj_run_once(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                 const struct aj_once_events *events, struct aj_result *ret)
{
	static const struct aj_once_events none = { 0 };
	static struct aj_run run;
	static struct aj_pump pumps[2];
	static struct aj_mediator mediator;
	static struct aj_publish publish;
	static struct aj_pty pty;
	publish = (struct aj_publish)AJ_NO_PUBLISH;
	mediator = (struct aj_mediator){ .connector = { -1, -1 } };
	int64_t started_us = aj_now_us();
	*ret = (struct aj_result){ 0 };
	const struct aj_once_events *on = events ? events : &none;
	run = (struct aj_run){ .policy = policy,
		               .output = on->output,
		               .output_arg = on->output_arg,
		               .connections = on->connections,
		               .connections_arg = on->connections_arg };
	aj_built_open(&run.built, plan);
	run.mediator = plan->snippet ? NULL : &mediator;
	run.publish = plan->publish.count ? &publish : NULL;
	if (launch_jail(&run, request, &publish, &ret->setup) < 0) {
		aj_publish_end(&publish);
		aj_asker_close(run.asker);
		if (run.mediator)
			aj_mediator_close(run.mediator);
		aj_growth_close(run.growth);
		aj_protect_close(run.protect);
		aj_view_close(run.view);
		aj_built_close(&run.built);
		aj_loop_free(run.loop);
		if (request->snippet)
			aj_sha256(request->code, request->code_bytes, ret->code_sha256);
		aj_verdict(&(struct aj_facts){ 0 }, plan, ret);
		return;
	}
	for (int i = 0; plan->pump && i < 2; i++)
		aj_pump_open(&pumps[i], i + 1, plan->escapes);
	run.pump = plan->pump ? pumps : NULL;
	if (plan->terminal) {
		run.pty = &pty;
		if (aj_pty_open(&pty, run.loop, plan->terminal_fd, plan->terminal_front, plan->escapes) < 0) {
			aj_fail(&run.result.setup, AJ_EXIT_SETUP, "terminal", errno, "relay the jail's terminal to the caller's");
			aj_jail_kill(&run.jail);
		}
	}
	aj_asker_hold(run.asker, aj_run_hold, &run);
	aj_run_open(&run, request->snippet ? aj_procfs_own_filters() : 0);
	if (request->snippet)
		aj_run_arm(&run);
	if (aj_run_begin(&run, request, 0, started_us, &run.result.setup) < 0)
		aj_jail_kill(&run.jail);
	watch_run(&run);
	aj_asker_close(run.asker);
	aj_publish_end(&publish);
	collect_output(&run, request);
	for (int i = 0; plan->pump && i < 2; i++)
		aj_pump_close(&pumps[i]);
	if (run.pty) {
		aj_pty_close(run.pty, run.facts.cause != AJ_CAUSE_NONE);
		memcpy(run.result.escapes, pty.filter.left_out, sizeof run.result.escapes);
	}
	aj_loop_free(run.loop);
	*ret = run.result;
}
