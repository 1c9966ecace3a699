/* The terminal of a command: one side is the guest's, the other one the supervisor's. */
#pragma once
#include "sandbox/jail_steps.h"

int aj_step_terminal(struct aj_steps *w, struct aj_error *err);
