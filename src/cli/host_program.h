/* Advice for a command that lacks something in its jail. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "policy/plan/plan.h"
#include "policy/policy.h"

/* If `err` says that `program` was not found in the jail, and gives no advice: where the host has it, and how to show it. */
void aj_host_program_advise(struct aj_error *err, const char *program, struct aj_arena *arena);
/* For a failed interpreter whose script exists on the host but not in the jail: advice with the options that show it; else NULL.
 * The command may have failed for another reason. */
const char *aj_host_script_not_shown(const struct aj_plan *plan, char *const argv[], struct aj_arena *arena);
/* For a program that downloads what it runs, under a policy without a network: advice with a policy that has one; else NULL. */
const char *aj_host_runner_offline(const struct aj_policy *policy, char *const argv[], struct aj_arena *arena);
