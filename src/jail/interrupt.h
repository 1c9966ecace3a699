/* How a snippet is told to stop while its jail goes on: an exception is raised in it. */
#pragma once
#include "jail/run.h"

/* When a snippet is told to stop, and when everything is killed, counted from its start; INT64_MAX: never. `timeout_ms`: the request's,
 * 0 for the policy's; where the jail does not last it only kills. */
void aj_interrupt_clocks(const struct aj_plan *plan, bool lasting, uint64_t timeout_ms, int64_t *ret_soft_us, int64_t *ret_wall_us);
/* Have it stop, as at a keyboard. Without effect when none runs; asked for once more it is sent once more. */
void aj_interrupt_send(struct aj_run *run);
/* Its time is over. An interrupt that was not heeded is sent once more. */
void aj_interrupt_due(struct aj_run *run);
/* Its code has started: what it was told before it hears now. */
void aj_interrupt_started(const struct aj_run *run);
