/* One lock call that passed in a process with several threads, kept until it has been checked again. For locks.c alone. */
#pragma once
#include "sandbox/mediate/locks.h"

/* The thread's row; NULL: all rows belong to threads that cannot be checked yet. Sets *ret_cheated if a recycled row's thread cheated. */
struct aj_lock_look *aj_lock_look_find(struct aj_locks *l, pid_t tid, bool *ret_cheated);
/* Does the thread's process hold a forbidden lock through the descriptor of this call? */
bool aj_lock_look_cheated(const struct aj_locks *l, const struct aj_lock_look *look);
/* Is the call over? Yes, if the thread sleeps elsewhere, has used processor time, or is gone. */
bool aj_lock_look_past(const struct aj_lock_look *look);
/* User and system time; ret_state as in /proc/PID/stat, 'X' when the thread is gone. */
uint64_t aj_lock_look_ticks(const struct aj_lock_look *look, char *ret_state);
void aj_lock_look_free(struct aj_lock_look *look);
