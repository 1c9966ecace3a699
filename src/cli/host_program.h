/* Advice for a command that is not in the jail. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

/* If `err` says that `program` was not found in the jail, and gives no advice: where the host has it, and how to show it. */
void aj_host_program_advise(struct aj_error *err, const char *program, struct aj_arena *arena);
