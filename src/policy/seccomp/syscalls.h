/* The system calls a guest may make, by name and with a reason each.
 * A pure table: policy/seccomp/compile.c turns it into BPF, --dry-run and the docs print it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

/* A condition on one argument: (argument & mask) == value. The kernel truncates int arguments to 32 bits, so a comparison of all
 * 64 bits could be evaded: masks of ints are 32 bits wide. Pointers are compared whole. */
struct aj_arg {
	uint64_t mask; /* 0: no condition */
	uint64_t value;
	int index;
};

/* In place of an errno: the call is not made, and returns 0. */
enum { AJ_ERRNO_NONE = -1 };

enum { AJ_SYSCALL_ARGS = 3 }; /* conditions per row */

/* If other rows of a refused call have conditions, its row without one applies when none of them matches.
 *
 * The texts are in the row itself: pointers would be relocated at each start, in 15 pages that a run does not read. */
struct aj_syscall {
	char name[24];
	int errnum; /* 0: allowed; else the call's errno, or AJ_ERRNO_NONE. Unlisted calls get ENOSYS. */
	struct aj_arg arg[AJ_SYSCALL_ARGS];
	char why[96];
	char instead[120]; /* of a refused row: advice for the model; "": none */
};

/* A nonzero result ends the walk over a table, which returns it. */
typedef int aj_syscall_fn(const struct aj_syscall *row, void *data);
/* Call `each` for every row of a table. */
static inline int aj_syscall_rows_each(const struct aj_syscall *rows, size_t count, aj_syscall_fn *each, void *data)
{
	int r = 0;
	for (size_t i = 0; i < count && !r; i++)
		r = each(&rows[i], data);
	return r;
}

/* The same for every row of the profile under that network. */
int aj_syscalls_each(enum aj_profile profile, enum aj_network network, aj_syscall_fn *each, void *data);

/* What AJ_PROFILE_NATIVE allows beyond AJ_PROFILE_SNIPPET. */
int aj_syscalls_native_each(aj_syscall_fn *each, void *data);

/* Calls on neither list, with the reason for ENOSYS; for the generated pages. */
int aj_syscalls_absent_each(aj_syscall_fn *each, void *data);

/* The part of that which says what sockets a command may make; and the reason and advice where there is no network. */
int aj_syscalls_sockets_each(enum aj_network network, aj_syscall_fn *each, void *data);
#define AJ_NO_NETWORK "no network", "There is no network in this jail; ask for data through the tools or inputs you were given."

/* The same for a stage of the snippet's profile: Python starts under the baseline; baseline and the stage above together are the
 * profile. */
int aj_syscalls_stage_each(enum aj_stage stage, aj_syscall_fn *each, void *data);
/* The calls that only Python's start may make, and a snippet may not. */
int aj_syscalls_startup_each(aj_syscall_fn *each, void *data);

/* The calls of a zygote whose jails have that profile: every row allows. The second function: only the calls for births. */
int aj_syscalls_zygote_each(enum aj_profile profile, aj_syscall_fn *each, void *data);
int aj_syscalls_births_each(aj_syscall_fn *each, void *data);

/* The calls of the relay of a jail's network: every row allows. */
int aj_syscalls_relay_each(aj_syscall_fn *each, void *data);

/* The clone flags for a jail's init: CLONE_NEWUSER, NEWPID, NEWNS, NEWIPC, NEWUTS and NEWNET, and VM, PARENT, PIDFD, CHILD_SETTID
 * and CHILD_CLEARTID. A zygote whose plan has other namespaces bears no jail. */
#define AJ_BIRTH_FLAGS 0x7d229100u

/* The row that refuses this call: the profile's, else that of a denied group; NULL when there is none. */
const struct aj_syscall *aj_syscalls_refusal(enum aj_profile profile, enum aj_network network, uint64_t deny, const char *name,
                                             const uint64_t args[6]);

/* Number of distinct system calls that the profile allows. Quadratic in the rows: not for the hot path. */
int aj_syscalls_allowed(enum aj_profile profile, enum aj_network network);
const char *aj_profile_name(enum aj_profile profile);

/* The same for the calls that a group (one AJ_DENY_* bit) denies: every row gets its errnum, whatever the profile allows. */
int aj_syscalls_denied_each(uint64_t group, aj_syscall_fn *each, void *data);
const char *aj_deny_name(uint64_t group);

/* The names of this architecture's system calls by number, from the libseccomp of the build; "" for an unknown number. */
enum { AJ_SYSCALL_NUMBERS = 512 };
extern const char aj_syscall_names[AJ_SYSCALL_NUMBERS][24];
