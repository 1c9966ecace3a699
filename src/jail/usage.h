/* A live runner's resource usage, from the kernel: for lasting jails, whose runner is not reaped after a run. */
#pragma once
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "plan/plan.h"

/* Processor time of a process and its threads; 0 when the process is gone. */
uint64_t aj_meter_cpu_us(pid_t pid);
/* Processor time since `before_us`, and peak memory, in the fields that wait4() would fill (ru_stime, ru_maxrss). *status_fd: -1 at first,
 * then the process's open status file, which the caller closes. */
void aj_meter_read(pid_t pid, int *status_fd, uint64_t before_us, struct rusage *ret);
/* Reset the process's peak memory to its current use. false: the kernel refuses, and the peak stays. */
bool aj_meter_forget_peak(pid_t pid);
/* The target of a scratch mount that is full in the process's view, or NULL. */
const char *aj_meter_full(pid_t pid, const struct aj_plan *plan);
