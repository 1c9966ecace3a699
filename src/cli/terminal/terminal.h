/* Saves and restores the state of the pipes, sockets and files that a command inherits as descriptors 0 to 2. The caller shares
 * their open file descriptions, so a command's changes would outlive it. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "policy/plan/request.h"

struct aj_terminal {
	int flags[3];       /* of the open file descriptions, -1: unknown */
	unsigned closed[3]; /* permissions that group and others lack on the file behind each */
};

/* Decide which descriptors the command of `request` inherits: see its `terminal`, `no_input` and `pump`. */
int aj_terminal_choose(struct aj_request *request, struct aj_arena *arena, struct aj_error *err);

/* Save the state, before the command runs. */
void aj_terminal_save(struct aj_terminal *saved);
/* Call after every process of the jail has ended. */
void aj_terminal_restore(const struct aj_terminal *saved);
