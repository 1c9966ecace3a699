/* Sets up the jail inside the new namespaces before the guest runs: walks the tables of steps.h.
 * Runs in the forked child of the launcher and never returns. */
#pragma once
#include "sandbox/mounts/built.h"

struct aj_child_fds {
	int report;         /* the child's end of the handshake */
	int report_parent;  /* the supervisor's end, to be closed first */
	int control;        /* guest's end, -1 without one */
	int out, err;       /* guest's ends, -1: keep 1 and 2 */
	const char *leaves; /* zygote: the folder of the leaves that its jails are born in; NULL: they are born elsewhere */
};

_Noreturn void aj_child(struct aj_built *built, const struct aj_child_fds *fds);
