/* Interrupts a snippet by raising an exception in it. */
#pragma once
#include "jail/jail.h"

/* A snippet that was interrupted at its time limit has this long to stop; then its jail is killed. */
enum { AJ_SNIPPET_GRACE_MS = 1000 };
/* When a snippet is interrupted, and when the jail is killed, counted from the start; INT64_MAX: never. `timeout_ms`: the request's, 0
 * for the policy's. A command is only killed. */
void aj_interrupt_clocks(const struct aj_plan *plan, uint64_t timeout_ms, int64_t *ret_soft_us, int64_t *ret_wall_us);
/* Interrupt the snippet, as Ctrl-C would. Without effect when none runs; each call sends the signal again. */
void aj_interrupt_send(struct aj_jail *jail);
/* The snippet's limit of time has passed: the jail is killed AJ_SNIPPET_GRACE_MS from now. An earlier interrupt that was ignored is sent
 * again. */
void aj_interrupt_due(struct aj_jail *jail);
/* The code has started: send an interrupt that was requested before. */
void aj_interrupt_started(struct aj_jail *jail);
