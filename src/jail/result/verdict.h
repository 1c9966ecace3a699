/* Derives the status from facts: pure, so that every order of events can be tested.
 * The first cause wins, in this order:
 *
 *   setup_error             a wall could not be built; nothing ran
 *   timeout limit signal    the supervisor's reason to end the run: wall clock, output, interrupt,
 *   protocol_error            a malformed message
 *   oom                     the OOM killer killed any process of this jail
 *   timeout                 killed at the limit of processor time
 *   limit                   killed by SIGXFSZ under a limit of file size
 *   signal                  killed otherwise
 *   rejected                a claim; it can only come before the code was started
 *   timeout signal          the snippet failed after it was interrupted
 *   oom                     without a memory cgroup: MemoryError is claimed, and the peak was near the limit
 *   limit                   the run failed, and the kernel had refused it processes, or its scratch space is full
 *   ok error                exit code or claim
 *
 * An exit code never stands for one of these. Limits that were hit but did not decide the status are listed, too. */
#pragma once
#include <stdbool.h>
#include <sys/resource.h>

#include "jail/result/result.h"

enum aj_cause {
	AJ_CAUSE_NONE,
	AJ_CAUSE_TIMEOUT,
	AJ_CAUSE_OUTPUT,
	AJ_CAUSE_FILE, /* a file that we write for the jail grew too large */
	AJ_CAUSE_INTERRUPT,
	AJ_CAUSE_PROTOCOL,
	AJ_CAUSE_LOCKS,     /* a thread replaced the descriptor of a mediated lock */
	AJ_CAUSE_WORKSPACE, /* the workspace has grown too much */
	AJ_CAUSE_CALLS,     /* too many refused calls of tools */
};

/* Was the snippet interrupted, without ending the jail? */
enum aj_stop { AJ_STOP_NONE, AJ_STOP_BY_CLOCK, AJ_STOP_BY_CALLER };

struct aj_facts {
	enum aj_cause cause; /* why the supervisor killed the jail, if it did */
	bool alive;          /* the guest has answered, and the jail lives on */
	enum aj_stop stop;
	bool unarmed;               /* killed before Python had installed its filter; it received no code */
	bool interrupt_sent;        /* to the snippet, while it ran */
	uint64_t limit_ms;          /* the run's limit of time; 0: the plan's */
	uint64_t peak_before_bytes; /* peak memory of earlier runs in the jail; 0: none known */
	int interrupt_signal;
	char protocol_why[160]; /* why the message was refused */
	bool lingered;          /* the guest answered, did not exit, and was killed for that */
	bool exited;            /* init reported the guest's end */
	int wait_status;
	struct rusage usage;
	struct aj_leaf_usage leaf; /* all 0 without a cgroup */
	const char *full;          /* target of a scratch mount that init found full when the guest had ended, or NULL */
	char workspace_why[160];   /* AJ_CAUSE_WORKSPACE: what was measured */
	bool workspace_over;       /* it had grown too much at the end */
	const struct aj_output_buffer
	    *passed_on; /* a command's standard error, or its terminal's output, if the result has none; may be NULL */
	bool unread;    /* the command inherited its standard error, so nobody here read it */
	uint64_t cpu_limit_ms, pids_limit, file_limit_bytes, workspace_limit_bytes;
};

/* Fills status, reason, exit_code, signal, limits_hit and usage of `ret`; reads ret->setup and ret->claim. */
void aj_verdict(const struct aj_facts *facts, const struct aj_plan *plan, struct aj_result *ret);
