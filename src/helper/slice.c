/* Asks the scheduler to let a helper run soon: in short slices of processor time, which a task of Linux 6.12 and later may choose.
 * It asks for no privilege and no more time than other tasks get, and nothing depends on the answer. */
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/helper.h"

enum { SLICE_NS = 100000 /* the least that Linux takes */ };

void aj_helper_ask_short_slice(void)
{
	/* All else is set as it is: sched_setattr() knows no other way to leave it alone. A kernel without slices of tasks says 0. */
	struct sched_attr attr = { 0 };
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) < 0 || attr.sched_runtime == 0 ||
	    (attr.sched_policy != SCHED_NORMAL && attr.sched_policy != SCHED_BATCH))
		return;
	attr.sched_runtime = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attr, 0);
}
