/* How a snippet is told to stop while its jail goes on: an exception is raised in it. */
#pragma once
#include "run/live.h"

/* When a snippet is told to stop, and when everything is killed, counted from its start; INT64_MAX: never. `timeout_ms`: the request's,
 * 0 for the policy's; where the jail does not last it only kills. */
void aj_tell_clocks(const struct aj_plan *plan, bool lasting, uint64_t timeout_ms, int64_t *ret_soft_us, int64_t *ret_wall_us);
/* Have it stop, as at a keyboard. Without effect when none runs; asked for once more it is sent once more. */
void aj_tell_interrupt(struct aj_live *live);
/* Its time is over. An interrupt that was not heeded is sent once more. */
void aj_tell_due(struct aj_live *live);
/* Its code has started: what it was told before it hears now. */
void aj_tell_started(const struct aj_live *live);
