/* Runs one request in one jail: launch, watch, end.
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
#include "jail/pty/terminal_relay.h"
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
		aj_jail_terminal_signal(io->arg, (int)info.ssi_signo);
	else
		aj_jail_signal(io->arg, (int)info.ssi_signo);
}

static void watch_run(struct aj_jail *jail)
{
	sigset_t before;
	cleanup_fd int signal_fd = watched_signals(jail->terminal.pty, &before);
	/* Urgent: a signal that also ended the runner is not taken for the runner's own failure. */
	struct aj_io signals = { .fn = on_signal, .arg = jail, .fd = -1, .urgent = true };
	if (signal_fd < 0 || aj_loop_watch(jail->loop, &signals, signal_fd, EPOLLIN) < 0)
		aj_jail_fail(jail, "signals cannot be watched");
	while (!jail->gone)
		if (aj_loop_turn(jail->loop, INT64_MAX) < 0) {
			aj_jail_fail(jail, "the jail cannot be waited for; the program ran until then");
			aj_jail_kill(jail);
		}
	aj_loop_unwatch(jail->loop, &signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The jail, and what serves its published ports before it begins. */
static int launch_published(struct aj_jail *jail, struct aj_publish *publish, struct aj_error *err)
{
	const struct aj_plan *plan = jail->built.plan;
	if (aj_publish_open(publish, plan, err) < 0 || aj_launch(&jail->built, &jail->process, err) < 0)
		return -1;
	if (!plan->publish.count || (aj_publish_start(publish, plan, jail->process.user_ns, jail->process.net_ns,
	                                              (unsigned)jail->policy->connections, err) == 0 &&
	                             aj_process_go(&jail->process, err) == 0))
		return 0;
	aj_process_kill(&jail->process);
	aj_process_end(&jail->process, NULL);
	return -1;
}

static int launch_jail(struct aj_jail *jail, const struct aj_request *request, struct aj_publish *publish, struct aj_error *err)
{
	const struct aj_plan *plan = jail->built.plan;
	if (!(jail->loop = aj_loop_new()))
		return aj_fail(err, AJ_EXIT_SETUP, "watch", errno, "make an event loop");
	if (aj_asker_open(&jail->network.asker, jail->loop, plan, jail->policy, request, jail->output || !plan->capture, err) < 0)
		return -1;
	if (aj_inherited_sockets_check(plan, err) < 0)
		return -1;
	if (plan->mediated && aj_mediator_open(jail->calls.mediator, plan, err) < 0)
		return -1;
	if (aj_staging_open(&jail->workspace.staging, &jail->built, request, err) < 0 ||
	    aj_protect_open(&jail->workspace.protect, &jail->built, SEARCH_MS, err) < 0 ||
	    aj_growth_open(&jail->workspace.growth, &jail->built, &aj_growth_alone, MEASURE_MS, err) < 0)
		return -1;
	return launch_published(jail, publish, err);
}

/* No process of the jail is left, so nothing changes meanwhile. */
static void collect_output(struct aj_jail *jail, const struct aj_request *request)
{
	struct aj_collect *collect = aj_jail_collect(jail, request);
	struct aj_collected found;
	if (collect) {
		aj_collect_turn(collect, INT64_MAX);
		aj_collect_end(collect, &found);
		jail->outcome.result.files = found.files;
		jail->outcome.result.files_skipped = found.skipped;
	}
	aj_scratch_close(&jail->files.scratch);
}

/* The jail of a run, and what only such a jail has. */
struct once {
	struct aj_jail jail;
	struct aj_pump pumps[2];
	struct aj_mediator mediator;
	struct aj_publish publish;
	struct aj_pty pty;
};

static void init(struct once *o, const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_once_events *on)
{
	o->publish = (struct aj_publish)AJ_NO_PUBLISH;
	o->mediator = (struct aj_mediator){ .connector = { -1, -1 } };
	o->jail = (struct aj_jail){ .policy = policy };
	aj_built_open(&o->jail.built, plan);
	o->jail.calls.mediator = plan->snippet ? NULL : &o->mediator;
	o->jail.network.publish = plan->publish.count ? &o->publish : NULL;
	if (on) {
		o->jail.output = on->output;
		o->jail.output_arg = on->output_arg;
		o->jail.network.connections = on->connections;
		o->jail.network.connections_arg = on->connections_arg;
	}
}

/* No jail was made: `ret` says why. */
static void close_unlaunched(struct once *o, const struct aj_request *request, struct aj_result *ret)
{
	struct aj_jail *jail = &o->jail;
	aj_publish_end(&o->publish);
	aj_asker_close(jail->network.asker);
	if (jail->calls.mediator)
		aj_mediator_close(jail->calls.mediator);
	aj_growth_close(jail->workspace.growth);
	aj_protect_close(jail->workspace.protect);
	aj_staging_close(jail->workspace.staging);
	aj_loop_free(jail->loop);
	if (request->is_snippet)
		aj_sha256(request->snippet.code, request->snippet.code_bytes, ret->code_sha256);
	aj_verdict(&(struct aj_facts){ 0 }, jail->built.plan, ret);
	aj_built_close(&jail->built);
}

static void open_terminal(struct once *o)
{
	const struct aj_plan *plan = o->jail.built.plan;
	for (int i = 0; plan->pump && i < 2; i++)
		aj_pump_open(&o->pumps[i], i + 1, plan->escapes);
	o->jail.terminal.pump = plan->pump ? o->pumps : NULL;
	o->jail.terminal.pty = plan->terminal ? &o->pty : NULL;
	if (plan->terminal &&
	    aj_pty_open(&o->pty, o->jail.loop, plan->terminal_fd, plan->terminal_foreground, plan->escapes) < 0) {
		aj_fail(&o->jail.outcome.result.setup, AJ_EXIT_SETUP, "terminal", errno,
		        "relay the jail's terminal to the caller's");
		aj_process_kill(&o->jail.process);
	}
}

static void close_terminal(struct once *o)
{
	struct aj_outcome *outcome = &o->jail.outcome;
	for (int i = 0; o->jail.terminal.pump && i < 2; i++)
		aj_pump_close(&o->pumps[i]);
	if (!o->jail.terminal.pty)
		return;
	aj_pty_close(&o->pty, outcome->facts.cause != AJ_CAUSE_NONE);
	memcpy(outcome->result.escapes, o->pty.filter.left_out, sizeof outcome->result.escapes);
}

static void run(struct aj_jail *jail, const struct aj_request *request, int64_t started_us)
{
	aj_asker_on_pause(jail->network.asker, aj_jail_pause_output, jail);
	aj_jail_open(jail, request->is_snippet ? aj_procfs_own_filters() : 0);
	if (request->is_snippet)
		aj_jail_arm(jail);
	if (aj_jail_begin(jail, request, started_us, &jail->outcome.result.setup) < 0)
		aj_process_kill(&jail->process);
	watch_run(jail);
	aj_asker_close(jail->network.asker);
}

void aj_run_once(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                 const struct aj_once_events *events, struct aj_result *ret)
{
	static struct once once; /* too large for a stack */
	int64_t started_us = aj_now_us();
	*ret = (struct aj_result){ 0 };
	init(&once, plan, policy, events);
	if (launch_jail(&once.jail, request, &once.publish, &ret->setup) < 0) {
		close_unlaunched(&once, request, ret);
		return;
	}
	open_terminal(&once);
	run(&once.jail, request, started_us);
	aj_publish_end(&once.publish);
	collect_output(&once.jail, request);
	close_terminal(&once);
	aj_loop_free(once.jail.loop);
	aj_output_buffer_free(&once.jail.outcome.passed_on);
	*ret = once.jail.outcome.result;
}
