/* Interrupts a snippet by raising an exception in it. */
#pragma once
#include "jail/jail.h"

/* Interrupt the snippet, as Ctrl-C would. Without effect when none runs; each call sends the signal again. */
void aj_interrupt_send(struct aj_jail *jail);
/* The snippet's time limit has passed: kill the jail AJ_SNIPPET_GRACE_MS from now. Send an ignored interrupt again. */
void aj_interrupt_due(struct aj_jail *jail);
/* The code has started: send an interrupt that was requested before. */
void aj_interrupt_started(struct aj_jail *jail);
