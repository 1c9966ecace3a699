/* From facts to a status: pure, so that every order of events can be tested.
 * First cause wins, in this order:
 *
 *   setup_error             a wall did not stand; nothing ran
 *   timeout limit signal    what the supervisor ended the run for: wall clock, output, interrupt;
 *   protocol_error            a message that is none
 *   oom                     the kernel killed for memory in this jail, whichever process, whatever the others did then
 *   timeout                 killed at the limit of processor time
 *   limit                   killed by SIGXFSZ under a limit of file size
 *   signal                  killed otherwise
 *   rejected                a claim; it can only come before the code was started
 *   timeout signal          a jail that lasts: the snippet failed after it was told to stop
 *   oom                     without a memory cgroup: MemoryError is claimed, and the peak was near the limit
 *   limit                   the run failed, and the kernel had refused it processes, or its scratch space is full
 *   ok error                exit code or claim
 *
 * An exit code is never taken for one of these. Limits that were hit without deciding are listed all the same. */
#pragma once
#include <stdbool.h>
#include <sys/resource.h>

#include "result/result.h"

enum aj_cause {
	AJ_CAUSE_NONE,
	AJ_CAUSE_TIMEOUT,
	AJ_CAUSE_OUTPUT,
	AJ_CAUSE_FILE, /* what we write for the jail grew too large */
	AJ_CAUSE_INTERRUPT,
	AJ_CAUSE_PROTOCOL,
	AJ_CAUSE_LOCKS, /* a thread cheated at one */
	AJ_CAUSE_CALLS, /* of tools, too many that had to be refused */
};

/* A snippet of a jail that lasts was told to stop, and the jail was not ended. */
enum aj_told { AJ_NOT_TOLD, AJ_STOP_BY_CLOCK, AJ_STOP_BY_CALLER };

struct aj_facts {
	enum aj_cause cause; /* why the supervisor killed the jail, if it did */
	bool alive;          /* it has answered, and goes on */
	enum aj_told told;
	uint64_t soft_ms, wall_ms;  /* after which it was told; after which all is killed, 0: the plan's */
	uint64_t peak_before_bytes; /* that an earlier run had reached already; 0: nothing was kept of it */
	int interrupt_signal;
	char protocol_why[160]; /* what was wrong with the message */
	bool lingered;          /* it had answered, did not leave, and was killed for that */
	bool exited;            /* init reported the guest's end */
	int wait_status;
	struct rusage usage;
	struct aj_leaf_usage leaf; /* all 0 without a cgroup */
	const char *full;          /* target of a scratch mount that init found full when the guest had ended, or NULL */
	uint64_t cpu_limit_ms, pids_limit, file_limit_bytes;
};

/* Fills status, reason, exit_code, signal, limits_hit and usage of `ret`; reads ret->setup and ret->claim. */
void aj_verdict(const struct aj_facts *facts, const struct aj_plan *plan, struct aj_result *ret);
