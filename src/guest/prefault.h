/* The pages that every newborn jail writes or reads first, learnt once from a trial and then populated in a few calls: a page
 * fault for each page would be most of a birth's cost. Those of its birth come first; those of its first snippet once it is
 * armed, while the supervisor attests its walls, or while it waits for a caller. */
#pragma once

/* Call once in a zygote: `trial` runs in a copy that is discarded. `proc_fd`: the host's /proc. A failure only means that no
 * pages are learnt. The caller runs the atfork handlers before and after. */
void aj_prefault_learn(int proc_fd, void (*trial)(void));
/* In the trial: up to here a birth, from here on a first snippet. */
void aj_prefault_born(void);
/* Call first in the newborn. */
void aj_prefault(void);
/* Call in the newborn when it is armed, with its filter. */
void aj_prefault_snippet(void);
