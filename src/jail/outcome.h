/* The outcome of a run: its result, the facts behind the verdict, and what the jail had used before the run. */
#pragma once
#include "jail/result/verdict.h"
#include "sandbox/launch.h"

struct aj_outcome {
	struct aj_result result; /* of the run under way, or of the last one */
	struct aj_facts facts;
	/* What we forwarded of a command's standard error or terminal: the verdict looks for signs of a limit in it. */
	struct aj_output_buffer passed_on;
	int64_t started_us; /* start of the run */
	int status_fd;      /* /proc/PID/status of a lasting jail's runner; -1: not opened yet */
	/* Usage and refusals before this run. */
	struct aj_leaf_usage leaf_before;
	uint64_t cpu_before_us;
};

/* Before the first run of a jail. */
void aj_outcome_init(struct aj_outcome *o, const struct aj_plan *plan, const struct aj_policy *policy);
/* Before a lasting jail's next run, before its code is sent: note what the jail has used so far. */
void aj_outcome_count_before(struct aj_outcome *o, const struct aj_plan *plan, const struct aj_process *process, pid_t runner);
/* Then: a new result in place of the last one. `listens`: the filter's listener is open. */
void aj_outcome_renew(struct aj_outcome *o, const struct aj_plan *plan, bool listens);

/* Read the leaf's counters since the run began, and the time that it took. */
void aj_outcome_read_leaf(struct aj_outcome *o, const struct aj_process *process);
void aj_outcome_stop_clock(struct aj_outcome *o);
/* Read what a live runner has used since the run began, and which of its scratch space is full after an error. */
void aj_outcome_read_runner(struct aj_outcome *o, const struct aj_plan *plan, pid_t runner);
/* The last run's result stays, as far as it is known: the jail ended between two runs. */
void aj_outcome_end_idle(struct aj_outcome *o);
void aj_outcome_decide(struct aj_outcome *o, const struct aj_plan *plan);
