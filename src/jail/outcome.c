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

void aj_jail_count_before(struct aj_jail *jail)
{
	uint64_t peak_bytes = jail->result.peak_memory_bytes;
	jail->facts = (struct aj_facts){ .cpu_limit_ms = jail->facts.cpu_limit_ms,
		                         .pids_limit = jail->facts.pids_limit,
		                         .file_limit_bytes = jail->facts.file_limit_bytes,
		                         .workspace_limit_bytes = jail->facts.workspace_limit_bytes };
	/* Only where the old peak could be taken for this run's: resetting it costs a tenth of a small snippet. */
	if (jail->built.plan->memory_by_rlimit && peak_bytes > jail->built.plan->memory_bytes / 2 &&
	    !aj_meter_forget_peak(jail->channel.runner))
		jail->facts.peak_before_bytes = peak_bytes;
	aj_leaf_read(jail->process.cgroup, &jail->leaf_before);
	jail->cpu_before_us = aj_meter_cpu_us(jail->channel.runner);
}

void aj_jail_renew(struct aj_jail *jail)
{
	struct aj_result *r = &jail->result;
	/* After too many refusals the listener is closed. */
	bool seen = r->violations.seen && (jail->fork_group ? jail->group->listens(jail->fork_group) : jail->listener_fd >= 0);
	char note[sizeof r->note], bound[sizeof r->bound];
	memcpy(note, r->note, sizeof note);
	memcpy(bound, r->bound, sizeof bound);
	aj_result_free(r);
	*r = (struct aj_result){ .out.cap_bytes = jail->built.plan->capture_bytes,
		                 .err.cap_bytes = jail->built.plan->capture_bytes,
		                 .violations.seen = seen };
	/* These were found before the first run, and hold for all. */
	memcpy(r->note, note, sizeof note);
	memcpy(r->bound, bound, sizeof bound);
}

static void report_workspace(struct aj_jail *jail, bool jail_gone)
{
	json_decref(jail->result.workspace);
	jail->result.workspace = jail->protect ? aj_protect_report(jail->protect, jail_gone) : NULL;
}

static void give_verdict(struct aj_jail *jail)
{
	aj_verdict(&jail->facts, jail->built.plan, &jail->result);
	if (jail->result.status == AJ_STATUS_ERROR)
		aj_workspace_closed(jail->built.plan, jail->result.hint, sizeof jail->result.hint);
}

/* The leaf's counters since the run began. */
static void read_leaf(struct aj_jail *jail)
{
	aj_leaf_read(jail->process.cgroup, &jail->facts.leaf);
	aj_leaf_since(&jail->facts.leaf, &jail->leaf_before);
}

void aj_jail_conclude(struct aj_jail *jail)
{
	jail->running = false;
	jail->soft_us = jail->deadline_us = INT64_MAX;
	jail->facts.alive = true;
	read_leaf(jail);
	aj_meter_read(jail->channel.runner, &jail->status_fd, jail->cpu_before_us, &jail->facts.usage);
	if (strcmp(aj_claim_status(jail->result.claim), "error") == 0)
		jail->facts.full = aj_meter_full(jail->channel.runner, jail->built.plan);
	jail->result.wall_us = (uint64_t)(aj_now_us() - jail->started_us);
	report_workspace(jail, false);
	aj_jail_on_relay(jail);
	aj_jail_report_network(jail);
	give_verdict(jail);
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
	if (jail->fork_group)
		jail->group->on_exit(jail->fork_group, jail);
	bool lasting = jail->lasting; /* an answer that is read now must not keep the jail going */
	jail->lasting = false;
	while (aj_jail_reads_control(jail) && jail->facts.cause == AJ_CAUSE_NONE && is_readable(jail->process.control_fd))
		aj_jail_on_control(jail);
	jail->lasting = lasting;
	if (jail->pty)
		aj_pty_drain(jail->pty);
	for (int i = 0; jail->pump && i < 2; i++)
		jail->pump[i].last = true;
	aj_jail_drain(jail);
}

void aj_jail_on_exit(struct aj_jail *jail)
{
	struct aj_process *process = &jail->process;
	jail->exited = true;
	for (int i = 0; i < AJ_JAIL_FDS; i++)
		aj_jail_unwatch(jail, (enum aj_jail_fd)i);
	aj_loop_unset(jail->loop, &jail->timer);
	aj_asker_close(jail->asker); /* an answer would have no effect, and the rest of the output may be shown */
	jail->asker = NULL;
	read_rest(jail);
	if (jail->mediator)
		aj_mediator_close(jail->mediator);
	aj_jail_end_network(jail);
	aj_locks_close(&jail->locks);
	aj_close(&jail->listener_fd);
	aj_close(&jail->status_fd);
	memcpy(jail->facts.protocol_why, jail->channel.why, sizeof jail->facts.protocol_why);
	read_leaf(jail);
	if (process->init_pidfd >= 0 && jail->built.plan->snippet && jail->facts.cause == AJ_CAUSE_NONE && !jail->result.setup.exit_code)
		aj_channel_ended(&jail->channel);
	aj_process_end(process, &jail->facts.usage);
	jail->result.wall_us = (uint64_t)(aj_now_us() - jail->started_us);
	jail->facts.workspace_over = aj_growth_last(jail->growth);
	aj_growth_close(jail->growth);
	jail->growth = NULL;
	report_workspace(jail, true);
	aj_protect_close(jail->protect);
	jail->protect = NULL;
	jail->result.told = jail->told_us != 0;
	jail->result.changes = aj_view_report(jail->view);
	aj_view_close(jail->view);
	jail->view = NULL;
	aj_built_close(&jail->built);
	aj_channel_free(&jail->channel);
	jail->soft_us = jail->deadline_us = INT64_MAX;
	jail->gone = true;
	if (jail->facts.alive) { /* the last result is known, the reason of the end is not */
		jail->facts.alive = false;
		jail->facts.stop = AJ_STOP_NONE;
		jail->facts.told = false;
		jail->result.reason[0] = '\0';
		json_decref(jail->result.claim);
		jail->result.claim = NULL;
	}
	give_verdict(jail);
}
