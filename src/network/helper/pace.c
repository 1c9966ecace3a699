/* Makes a helper sleep between bulk chunks where processors are scarce and small amounts arrive beside bulk data: a task that
 * never sleeps waits for other tasks' slices when its own is over, and all that arrives waits too; a sleeping task is woken for
 * an event. It never sleeps where a processor is always free for it, or while only bulk data arrives. */
#include "network/helper/pace.h"

#include <time.h>

#include "base/fd.h"

enum {
	WORK_US = 500,        /* until it sleeps, or checks whether it should */
	SLEEP_US = 1000,      /* at most: an event ends it */
	CROWDED_US = 1000000, /* since it waited for a processor as long as it ran */
	NS_OF_US = 1000,
};

int64_t aj_pace_sleep_us(struct aj_pace *pace, bool mixed, int64_t now_us, int64_t processor_us)
{
	const int64_t passed_us = now_us - pace->began_us, ran_us = processor_us - pace->began_processor_us;
	const bool is_new = pace->began_us == 0;
	if (!is_new && passed_us < WORK_US)
		return 0;
	if (!is_new && passed_us - ran_us >= ran_us)
		pace->crowded_until_us = now_us + CROWDED_US;
	pace->began_us = now_us;
	pace->began_processor_us = processor_us;
	return !is_new && mixed && now_us < pace->crowded_until_us ? SLEEP_US : 0;
}

int64_t aj_pace_until_us(struct aj_pace *pace, const struct aj_bulk *bulk, int64_t due_us)
{
	if (aj_bulk_waits(bulk)) {
		int64_t now_us = aj_now_us();
		int64_t processor_us = aj_clock_ns(CLOCK_THREAD_CPUTIME_ID) / NS_OF_US;
		int64_t sleep_us = aj_pace_sleep_us(pace, bulk->short_turns > 0, now_us, processor_us);
		if (sleep_us == 0)
			return 0;
		due_us = now_us + sleep_us < due_us ? now_us + sleep_us : due_us;
	}
	pace->began_us = 0;
	return due_us;
}
