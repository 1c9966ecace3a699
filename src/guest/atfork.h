/* Runs the pthread_atfork() handlers around a copy of this process that libc does not make. */
#pragma once
#include <stdbool.h>

void aj_atfork_before(void);
void aj_atfork_after(bool child);
