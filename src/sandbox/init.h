/* PID 1 of the jail: waits for the guest, reaps orphans, forwards signals, reports. */
#pragma once
#include <signal.h>
#include <sys/types.h>

#include "policy/plan/plan.h"

/* From the supervisor: kill every process, reap it, report. Unlike SIGKILL this preserves the usage counts. */
#define AJ_SIGNAL_END SIGPWR

/* Call before forking the guest: from then on signals wait for aj_init_run(). */
int aj_init_block_signals(void);
/* Unblock all signals in the guest, and reset every signal to its default action. */
int aj_init_unblock_signals(void);
/* Never returns: exits when the guest has exited, which ends every other process of the jail. `terminal`: that whose session init
 * leads; -1: none. From the supervisor of such a jail SIGTSTP and SIGCONT stop and continue every process. */
_Noreturn void aj_init_run(int report_fd, int terminal, pid_t guest, const struct aj_plan *plan);
