/* Advisory locks on whole files. A lock ends with its open file description. A lock can be tested without being taken: unlike a
 * test by flock(2), this never makes another program's attempt at that moment fail. */
#pragma once
#include <stdbool.h>

/* Take the lock, exclusive (the file is open for writing) or shared (for reading), without waiting. -1 with errno (EAGAIN:
 * held). */
int aj_lock_take(int fd, bool exclusive);
/* Is it held, in either way, by another open file description? Also true where the kernel cannot say. */
bool aj_lock_is_held(int fd);
