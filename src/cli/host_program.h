/* Advice for a command that lacks something in its jail. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "plan/plan.h"
#include "policy/policy.h"

/* If `err` says that `program` was not found in the jail, and gives no advice: where the host has it, and how to show it. */
void aj_host_program_advise(struct aj_error *err, const char *program, struct aj_arena *arena);
/* Of a command that has failed: if it is an interpreter whose script the host has and the jail does not show, a sentence with the options that
 * show it; else NULL. Whether the command failed for that reason is not known. */
const char *aj_host_script_unseen(const struct aj_plan *plan, char *const argv[], struct aj_arena *arena);
/* Of a program that downloads what it runs, under a policy without a network: a sentence with what has one; else NULL. */
const char *aj_host_runner_offline(const struct aj_policy *policy, char *const argv[], struct aj_arena *arena);
