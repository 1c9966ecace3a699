/* The pages that every newborn jail writes or reads first, learnt once from a trial and then populated in a few calls: a page fault for
 * each page would be most of a birth's cost. */
#pragma once

/* Call once in a zygote: `trial` runs in a copy that is discarded. `proc_fd`: the host's /proc. A failure only means that no pages are
 * learnt. The caller runs the atfork handlers before and after. */
void aj_prefault_learn(int proc_fd, void (*trial)(void));
/* Call first in the newborn. */
void aj_prefault(void);
