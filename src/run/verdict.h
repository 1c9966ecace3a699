/* From facts to a status: pure, so that every order of events can be tested.
 * First cause wins: a failed set-up, then what the supervisor ended the run for, then the kernel's word on how the
 * guest ended, and only then what the guest itself claims. */
#pragma once
#include <stdbool.h>
#include <sys/resource.h>

#include "run/result.h"

enum aj_cause {
	AJ_CAUSE_NONE,
	AJ_CAUSE_TIMEOUT,
	AJ_CAUSE_OUTPUT,
	AJ_CAUSE_INTERRUPT,
	AJ_CAUSE_PROTOCOL,
};

struct aj_facts {
	enum aj_cause cause; /* why the supervisor killed the jail, if it did */
	int interrupt_signal;
	char protocol_why[160]; /* what was wrong with the message */
	bool lingered;          /* it had answered, did not leave, and was killed for that */
	bool exited;            /* init reported the guest's end */
	int wait_status;
	struct rusage usage;
	uint64_t cgroup_peak_bytes; /* 0: unknown */
	uint64_t cgroup_oom_kills;
	uint64_t cpu_limit_ms;
};

/* Fills status, reason, exit_code, signal, limit_hit and usage of `ret`; reads ret->setup and ret->claim. */
void aj_verdict(const struct aj_facts *facts, const struct aj_plan *plan, struct aj_result *ret);
