/* The PID namespace of a zygote: its PID 1 is the holder, an agentjail process that runs no foreign code and waits.
 * A zygote cannot be that PID 1, since the kernel lets no PID 1 make processes for its parent. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct aj_process;
struct aj_zygote_cgroups;
struct aj_steps;

/* Called by the zygote's builder, in the zygote's user namespace: makes the namespace, the holder, and the process that becomes
 * the zygote; that process returns 0 when the supervisor knows its pid. All are children of the supervisor; the caller reports
 * them to the supervisor (AJ_MSG_PARTED) and exits. Until then the three are in a session that the builder began. -1 with err. */
int aj_holder_part(struct aj_steps *walls, struct aj_error *err);

/* The supervisor's handle of a holder: valid as long as a jail born there lives, as the kernel ends the jails with the holder. */
struct aj_holder;

/* Wait for the report of aj_holder_part(). `process` is its caller, a child of the supervisor, which is reaped; on return it is
 * the zygote, the holder's first user. The holder owns `cgroups` from here on. NULL with err: none of the three processes is
 * left, whichever of them was killed, `process` is none any more, and the caller still owns the cgroups. */
struct aj_holder *aj_holder_take(struct aj_process *process, const struct aj_zygote_cgroups *cgroups, struct aj_error *err);

/* The cgroups of the zygote and its jails, and the number of these jails. */
struct aj_zygote_cgroups *aj_holder_cgroups(struct aj_holder *holder);
size_t aj_holder_jails(const struct aj_holder *holder);

/* NULL when `pid`, a child of the supervisor, is PID 1 of a namespace directly below the holder's and belongs to no registered
 * jail; then it is registered, and uses the holder until aj_holder_leave(). Else the objection. */
const char *aj_holder_admit(struct aj_holder *holder, pid_t pid);

/* True when `pid`, a child of the supervisor with this pidfd, was born from the zygote and belongs to no registered jail, but its
 * namespaces may not be inspected (an ordinary user's, while it exits). The supervisor may kill and reap it. */
bool aj_holder_bore(const struct aj_holder *holder, pid_t pid, int pidfd);

/* `pid` has ended. After the last user the holder is ended, and with it every process left in its namespace. */
void aj_holder_leave(struct aj_holder *holder, pid_t pid);

/* The zygote was sent SIGKILL: end every process that it left behind outside a registered jail, and reap the supervisor's
 * children among them, the zygote included. */
void aj_holder_zygote_gone(struct aj_holder *holder, int zygote_pidfd);
