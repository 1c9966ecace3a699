/* What a runner has used so far, asked of the kernel while it lives: for jails that last, which nobody waits for after a run. */
#pragma once
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "plan/plan.h"

/* Processor time of a process and its threads; 0 when it is gone. */
uint64_t aj_meter_cpu_us(pid_t pid);
/* That since `before_us`, and its peak memory, in the fields that waiting for it would fill (ru_stime, ru_maxrss). */
void aj_meter_read(pid_t pid, uint64_t before_us, struct rusage *ret);
/* Have the kernel count its peak anew, from what it uses now. false: it does not let us, and the peak stays. */
bool aj_meter_forget_peak(pid_t pid);
/* The target of a scratch mount of the plan that is full as the process sees it, or NULL. */
const char *aj_meter_full(pid_t pid, const struct aj_plan *plan);
