/* PID 1 of the jail: waits for the guest, reaps orphans, forwards signals, reports. */
#pragma once
#include <sys/types.h>

/* Call before forking the guest: from then on signals wait for aj_init_run(). */
void aj_init_block_signals(void);
/* Undo that in the guest. */
void aj_init_unblock_signals(void);
/* Returns never: exits when the guest has exited, which ends every other process of the jail. */
_Noreturn void aj_init_run(int report_fd, pid_t guest);
