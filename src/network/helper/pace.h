/* Decides when a helper that moves bulk data sleeps until an event, because the scheduler delays a thread that never sleeps. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "network/helper/flow.h"

/* Zeroed before its first use. */
struct aj_pace {
	int64_t began_us, began_processor_us; /* of the current work; 0: it begins with the next chunk */
	int64_t crowded_until_us;
};

/* Until when the loop's next turn may wait: `due_us`, or less where bulk data waits for its turn. Call it before each turn. */
int64_t aj_pace_until_us(struct aj_pace *pace, const struct aj_bulk *bulk, int64_t due_us);
/* How long to sleep while bulk data waits; 0: not at all. `mixed`: small amounts of others arrive too. `processor_us`: processor
 * time of this thread. */
int64_t aj_pace_sleep_us(struct aj_pace *pace, bool mixed, int64_t now_us, int64_t processor_us);
