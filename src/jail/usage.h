/* A live runner's resource usage, from the kernel: for lasting jails, whose runner is not reaped after a run. */
#pragma once
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "policy/plan/plan.h"

/* Processor time of a process and its threads; 0 when the process is gone. */
uint64_t aj_meter_cpu_us(pid_t pid);
/* Opens the process's status file, unless *status_fd is not -1: to find it takes as long as to read it. The file still belongs
 * to this process, also when the number is another's. The caller closes it. A failure leaves -1. */
void aj_meter_open(pid_t pid, int *status_fd);
/* Processor time since `before_us`, and peak memory, in the fields that wait4() would fill (ru_stime, ru_maxrss). *status_fd: as
 * aj_meter_open() has it, which this calls. */
void aj_meter_read(pid_t pid, int *status_fd, uint64_t before_us, struct rusage *ret);
/* Reset the process's peak memory to its current use. false: the kernel refuses, and the peak stays. */
bool aj_meter_forget_peak(pid_t pid);
/* The target of a scratch mount that is full in the process's view, or NULL. */
const char *aj_meter_full(pid_t pid, const struct aj_plan *plan);
