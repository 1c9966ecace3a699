/* Renews a run's result before each snippet, and completes it at the answer or at the jail's end.
 * Takes no figure from the jail: usage is the kernel's, and the verdict is jail/result/verdict's. */
#include "jail/outcome.h"

#include <string.h>

#include "base/fd.h"
#include "jail/result/claim.h"
#include "jail/usage.h"
#include "sandbox/cgroup/leaf.h"
#include "workspace/owner.h"

enum { PASSED_ON_BYTES = 16 << 10 };

void aj_outcome_init(struct aj_outcome *o, const struct aj_plan *plan, const struct aj_policy *policy)
{
	o->status_fd = -1;
	o->facts.cpu_limit_ms = policy->cpu_ms;
	o->facts.pids_limit = policy->pids;
	o->facts.file_limit_bytes = policy->file_bytes;
	o->facts.workspace_limit_bytes = plan->workspace_bytes;
	o->result.out.cap_bytes = o->result.err.cap_bytes = plan->capture_bytes;
	o->passed_on.cap_bytes = PASSED_ON_BYTES;
}

void aj_outcome_count_before(struct aj_outcome *o, const struct aj_plan *plan, const struct aj_process *process, pid_t runner)
{
	uint64_t peak_bytes = o->result.peak_memory_bytes;
	o->facts = (struct aj_facts){ .cpu_limit_ms = o->facts.cpu_limit_ms,
		                      .pids_limit = o->facts.pids_limit,
		                      .file_limit_bytes = o->facts.file_limit_bytes,
		                      .workspace_limit_bytes = o->facts.workspace_limit_bytes };
	/* Only where the old peak could be taken for this run's: resetting it costs a tenth of a small snippet. */
	if (plan->memory_by_rlimit && peak_bytes > plan->memory_bytes / 2 && !aj_meter_forget_peak(runner))
		o->facts.peak_before_bytes = peak_bytes;
	aj_leaf_read(process->cgroup, &o->leaf_before);
	o->cpu_before_us = aj_meter_cpu_us(runner);
}

void aj_outcome_renew(struct aj_outcome *o, const struct aj_plan *plan, bool listens)
{
	struct aj_result *r = &o->result;
	/* After too many refusals the listener is closed. */
	bool seen = r->violations.seen && listens;
	char note[sizeof r->note], bound[sizeof r->bound];
	const struct aj_socket_limits *sockets = r->sockets;
	memcpy(note, r->note, sizeof note);
	memcpy(bound, r->bound, sizeof bound);
	aj_result_free(r);
	*r = (struct aj_result){ .violations.seen = seen };
	r->out.cap_bytes = r->err.cap_bytes = plan->capture_bytes;
	/* These were found before the first run, and hold for all. */
	memcpy(r->note, note, sizeof note);
	memcpy(r->bound, bound, sizeof bound);
	r->sockets = sockets;
}

void aj_outcome_read_leaf(struct aj_outcome *o, const struct aj_process *process)
{
	aj_leaf_read(process->cgroup, &o->facts.leaf);
	aj_leaf_since(&o->facts.leaf, &o->leaf_before);
}

void aj_outcome_stop_clock(struct aj_outcome *o)
{
	o->result.wall_us = (uint64_t)(aj_now_us() - o->started_us);
}

void aj_outcome_read_runner(struct aj_outcome *o, const struct aj_plan *plan, pid_t runner)
{
	aj_meter_read(runner, &o->status_fd, o->cpu_before_us, &o->facts.usage);
	if (strcmp(aj_claim_status(o->result.claim), "error") == 0)
		o->facts.full = aj_meter_full(runner, plan);
}

void aj_outcome_end_idle(struct aj_outcome *o)
{
	o->facts.alive = false;
	o->facts.stop = AJ_STOP_NONE;
	o->facts.interrupt_sent = false;
	o->result.reason[0] = '\0';
	json_decref(o->result.claim);
	o->result.claim = NULL;
}

void aj_outcome_decide(struct aj_outcome *o, const struct aj_plan *plan)
{
	o->facts.passed_on = &o->passed_on;
	o->facts.unread = !plan->capture && !plan->terminal && !(plan->pump & AJ_PUMP_ERR);
	aj_verdict(&o->facts, plan, &o->result);
	if (o->result.status == AJ_STATUS_ERROR)
		aj_workspace_closed(plan, o->result.hint, sizeof o->result.hint);
}
