/* Renews a run's result before each snippet, and completes it at the answer or at the jail's end.
 * Takes no figure from the jail: usage is the kernel's, and the verdict is jail/result/verdict's. */
#include <poll.h>
#include <string.h>

#include "base/fd.h"
#include "jail/inner.h"
#include "jail/pty/relay.h"
#include "jail/result/claim.h"
#include "jail/usage.h"
#include "sandbox/cgroup/leaf.h"
#include "workspace/owner.h"

void aj_run_count_before(struct aj_run *run)
{
	uint64_t peak_bytes = run->result.peak_memory_bytes;
	run->facts = (struct aj_facts){ .cpu_limit_ms = run->facts.cpu_limit_ms,
		                        .pids_limit = run->facts.pids_limit,
		                        .file_limit_bytes = run->facts.file_limit_bytes,
		                        .workspace_limit_bytes = run->facts.workspace_limit_bytes };
	/* Only where the old peak could be taken for this run's: resetting it costs a tenth of a small snippet. */
	if (run->built.plan->memory_by_rlimit && peak_bytes > run->built.plan->memory_bytes / 2 &&
	    !aj_meter_forget_peak(run->channel.runner))
		run->facts.peak_before_bytes = peak_bytes;
	aj_leaf_read(run->jail.cgroup, &run->leaf_before);
	run->cpu_before_us = aj_meter_cpu_us(run->channel.runner);
}

void aj_run_renew(struct aj_run *run)
{
	struct aj_result *r = &run->result;
	/* After too many refusals the listener is closed. */
	bool seen = r->violations.seen && (run->fork_group ? run->group->listens(run->fork_group) : run->listener_fd >= 0);
	char note[sizeof r->note], bound[sizeof r->bound];
	memcpy(note, r->note, sizeof note);
	memcpy(bound, r->bound, sizeof bound);
	aj_result_free(r);
	*r = (struct aj_result){ .out.cap_bytes = run->built.plan->capture_bytes,
		                 .err.cap_bytes = run->built.plan->capture_bytes,
		                 .violations.seen = seen };
	/* These were found before the first run, and hold for all. */
	memcpy(r->note, note, sizeof note);
	memcpy(r->bound, bound, sizeof bound);
}

static void report_workspace(struct aj_run *run, bool jail_gone)
{
	json_decref(run->result.workspace);
	run->result.workspace = run->protect ? aj_protect_report(run->protect, jail_gone) : NULL;
}

static void give_verdict(struct aj_run *run)
{
	aj_verdict(&run->facts, run->built.plan, &run->result);
	if (run->result.status == AJ_STATUS_ERROR)
		aj_workspace_closed(run->built.plan, run->result.hint, sizeof run->result.hint);
}

/* The leaf's counters since the run began. */
static void read_leaf(struct aj_run *run)
{
	aj_leaf_read(run->jail.cgroup, &run->facts.leaf);
	aj_leaf_since(&run->facts.leaf, &run->leaf_before);
}

void aj_run_conclude(struct aj_run *run)
{
	run->running = false;
	run->soft_us = run->deadline_us = INT64_MAX;
	run->facts.alive = true;
	read_leaf(run);
	aj_meter_read(run->channel.runner, &run->status_fd, run->cpu_before_us, &run->facts.usage);
	if (strcmp(aj_claim_status(run->result.claim), "error") == 0)
		run->facts.full = aj_meter_full(run->channel.runner, run->built.plan);
	run->result.wall_us = (uint64_t)(aj_now_us() - run->started_us);
	report_workspace(run, false);
	aj_run_on_relay(run);
	aj_run_report_network(run);
	give_verdict(run);
}

static bool is_readable(int fd)
{
	return fd >= 0 && poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) > 0;
}

/* Reads the bytes that are left in the channels: every process of the jail is gone, so they were written before. */
static void read_rest(struct aj_run *run)
{
	while (is_readable(run->jail.report_fd))
		aj_run_on_report(run);
	if (run->fork_group)
		run->group->on_exit(run->fork_group, run);
	bool lasting = run->lasting; /* an answer that is read now must not keep the jail going */
	run->lasting = false;
	while (aj_run_reads_control(run) && run->facts.cause == AJ_CAUSE_NONE && is_readable(run->jail.control_fd))
		aj_run_on_control(run);
	run->lasting = lasting;
	if (run->pty)
		aj_pty_drain(run->pty);
	for (int i = 0; run->pump && i < 2; i++)
		run->pump[i].last = true;
	aj_run_drain(run);
}

void aj_run_on_exit(struct aj_run *run)
{
	struct aj_jail *jail = &run->jail;
	run->exited = true;
	for (int i = 0; i < AJ_RUN_FDS; i++)
		aj_run_unwatch(run, (enum aj_run_fd)i);
	aj_loop_unset(run->loop, &run->timer);
	aj_asker_close(run->asker); /* an answer would have no effect, and the rest of the output may be shown */
	run->asker = NULL;
	read_rest(run);
	if (run->mediator)
		aj_mediator_close(run->mediator);
	aj_run_end_network(run);
	aj_locks_close(&run->locks);
	aj_close(&run->listener_fd);
	aj_close(&run->status_fd);
	memcpy(run->facts.protocol_why, run->channel.why, sizeof run->facts.protocol_why);
	read_leaf(run);
	if (jail->init_pidfd >= 0 && run->built.plan->snippet && run->facts.cause == AJ_CAUSE_NONE && !run->result.setup.exit_code)
		aj_channel_ended(&run->channel);
	aj_jail_end(jail, &run->facts.usage);
	run->result.wall_us = (uint64_t)(aj_now_us() - run->started_us);
	run->facts.workspace_over = aj_growth_last(run->growth);
	aj_growth_close(run->growth);
	run->growth = NULL;
	report_workspace(run, true);
	aj_protect_close(run->protect);
	run->protect = NULL;
	run->result.told = run->told_us != 0;
	run->result.changes = aj_view_report(run->view);
	aj_view_close(run->view);
	run->view = NULL;
	aj_built_close(&run->built);
	aj_channel_free(&run->channel);
	run->soft_us = run->deadline_us = INT64_MAX;
	run->gone = true;
	if (run->facts.alive) { /* the last result is known, the reason of the end is not */
		run->facts.alive = false;
		run->facts.stop = AJ_STOP_NONE;
		run->facts.told = false;
		run->result.reason[0] = '\0';
		json_decref(run->result.claim);
		run->result.claim = NULL;
	}
	give_verdict(run);
}
