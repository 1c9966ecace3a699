/* The end of a run: a lasting jail's answer, which leaves the jail as it is, or the end of the jail, which frees what it had. */
#include <poll.h>
#include <string.h>

#include "base/fd.h"
#include "jail/jail_inner.h"
#include "jail/pty/terminal_relay.h"

static void report_workspace(struct aj_jail *jail, bool jail_gone)
{
	struct aj_result *result = &jail->outcome.result;
	json_decref(result->workspace);
	result->workspace = jail->workspace.protect ? aj_protect_report(jail->workspace.protect, jail_gone) : NULL;
}

void aj_jail_conclude(struct aj_jail *jail)
{
	const struct aj_plan *plan = jail->built.plan;
	struct aj_outcome *outcome = &jail->outcome;
	jail->running = false;
	jail->deadlines.soft_us = jail->deadlines.kill_us = INT64_MAX;
	outcome->facts.alive = true;
	aj_outcome_read_leaf(outcome, &jail->process);
	aj_outcome_read_runner(outcome, plan, jail->channel.runner);
	aj_outcome_stop_clock(outcome);
	report_workspace(jail, false);
	aj_jail_on_relay(jail);
	aj_jail_report_network(jail);
	aj_outcome_decide(outcome, plan);
}

static bool is_readable(int fd)
{
	return fd >= 0 && poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) > 0;
}

/* Reads the bytes that are left in the channels: every process of the jail is gone, so they were written before. */
static void read_rest(struct aj_jail *jail)
{
	while (is_readable(jail->process.report_fd))
		aj_jail_on_report(jail);
	if (jail->fork.group)
		jail->fork.functions->on_exit(jail->fork.group, jail);
	bool lasting = jail->lasting; /* an answer that is read now must not keep the jail going */
	jail->lasting = false;
	while (aj_jail_reads_control(jail) && jail->outcome.facts.cause == AJ_CAUSE_NONE && is_readable(jail->process.control_fd))
		aj_jail_on_control(jail);
	jail->lasting = lasting;
	if (jail->terminal.pty)
		aj_pty_drain(jail->terminal.pty);
	for (int i = 0; jail->terminal.pump && i < 2; i++)
		jail->terminal.pump[i].last = true;
	aj_jail_drain(jail);
}

static void stop_watching(struct aj_jail *jail)
{
	jail->exited = true;
	for (int i = 0; i < AJ_JAIL_FDS; i++)
		aj_jail_unwatch(jail, (enum aj_jail_fd)i);
	aj_loop_unset(jail->loop, &jail->deadlines.timer);
	aj_asker_close(jail->network.asker); /* an answer would have no effect, and the rest of the output may be shown */
	jail->network.asker = NULL;
}

static void close_calls(struct aj_jail_calls *calls)
{
	if (calls->mediator)
		aj_mediator_close(calls->mediator);
	aj_locks_close(&calls->locks);
	aj_close(&calls->listener_fd);
}

/* No process of the jail is left that could change the workspace. */
static void close_workspace(struct aj_jail *jail)
{
	struct aj_jail_workspace *w = &jail->workspace;
	jail->outcome.facts.workspace_over = aj_growth_last(w->growth);
	aj_growth_close(w->growth);
	report_workspace(jail, true);
	aj_protect_close(w->protect);
	jail->outcome.result.changes = aj_staging_report(w->staging);
	aj_staging_close(w->staging);
	*w = (struct aj_jail_workspace){ 0 };
}

void aj_jail_on_exit(struct aj_jail *jail)
{
	const struct aj_plan *plan = jail->built.plan;
	struct aj_outcome *outcome = &jail->outcome;
	stop_watching(jail);
	read_rest(jail);
	close_calls(&jail->calls);
	aj_jail_end_network(jail);
	aj_close(&outcome->status_fd);
	memcpy(outcome->facts.protocol_why, jail->channel.why, sizeof outcome->facts.protocol_why);
	aj_outcome_read_leaf(outcome, &jail->process);
	bool unexplained = outcome->facts.cause == AJ_CAUSE_NONE && !outcome->result.setup.exit_code;
	if (jail->process.init_pidfd >= 0 && plan->snippet && unexplained)
		aj_channel_ended(&jail->channel);
	aj_process_end(&jail->process, &outcome->facts.usage);
	aj_outcome_stop_clock(outcome);
	outcome->result.interrupt_sent = jail->deadlines.terminating_since_us != 0;
	close_workspace(jail);
	aj_built_close(&jail->built);
	aj_channel_free(&jail->channel);
	jail->deadlines.soft_us = jail->deadlines.kill_us = INT64_MAX;
	jail->gone = true;
	if (outcome->facts.alive)
		aj_outcome_end_idle(outcome);
	aj_outcome_decide(outcome, plan);
}
