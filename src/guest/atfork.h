/* Around a copy of this process that libc does not make, and so does not tell anybody of. */
#pragma once
#include <stdbool.h>

void aj_atfork_before(void);
void aj_atfork_after(bool child);
