/* The pages that every newborn jail writes or looks at first, learnt once from a trial and then made its own in a few calls:
 * a page fault for each of them would be most of what a birth costs. */
#pragma once

/* In a zygote, once: `trial` runs in a copy that is thrown away. `proc_fd`: the host's /proc. Where something is missing nothing is
 * learnt, and nothing else is lost. The caller has told everybody of the fork before, and does so after. */
void aj_prefault_learn(int proc_fd, void (*trial)(void));
/* In the newborn, first of all. */
void aj_prefault(void);
