/* Landlock: enforces the mount table's rights a second time, in the kernel's access control. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "policy/plan/plan.h"

/* Restrict the calling process: read everywhere in the jail, write where the plan has a writable row, no abstract
 * sockets or signals beyond the jail where the ABI knows them. */
int aj_landlock_restrict(const struct aj_plan *plan, struct aj_error *err);
/* For a process of ours: it reads files below `folders` alone (those that exist), listens on no TCP port, connects to the TCP
 * ports given and to no others (NULL: to any), and reaches no abstract socket and no process outside. The kernel enforces as much
 * of that as it knows, with an `abi` below 1 nothing. */
int aj_landlock_relay(int abi, const char *const *folders, size_t folder_count, const uint16_t *ports, size_t port_count,
                      struct aj_error *err);
/* Only the scopes for abstract sockets and signals; does nothing where the ABI does not know them. A process restricted like this
 * can still mount, and its children can restrict themselves further. */
int aj_landlock_scope(int abi, struct aj_error *err);
