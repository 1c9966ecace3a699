/* Advisory locks of whole files, which end with the open file description, and which can be looked at without being taken: a look never
 * stands in the way of a program that takes the lock at that moment, as one by flock(2) would. */
#pragma once
#include <stdbool.h>

/* Take the lock, exclusive (the file is open for writing) or shared (for reading), without waiting. -1 with errno; EAGAIN: it is held. */
int aj_lock_take(int fd, bool exclusive);
/* Is it held, in either way, by another open file description? Also true where the kernel cannot say. */
bool aj_lock_is_held(int fd);
