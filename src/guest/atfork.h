/* Runs the pthread_atfork() handlers around a fork that does not go through libc. */
#pragma once
#include <stdbool.h>

void aj_atfork_before(void);
void aj_atfork_after(bool child);
