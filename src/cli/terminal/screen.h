/* Output to a terminal while a jail is watched: a stopped or unread terminal delays only its own output. Bytes that it does not
 * accept at once are kept until the next put, flush or finish. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

struct aj_screen {
	int fd; /* an open file description of our own, O_NONBLOCK; -1: not opened, and the other functions do nothing */
	struct aj_buffer kept;
	size_t kept_max;
	uint64_t dropped_bytes; /* beyond kept_max */
	bool failed;
};

/* Reopen the terminal behind descriptor `number`. Where that fails, fd is -1, and the caller writes to `number` itself. */
void aj_screen_open(struct aj_screen *screen, int number);
/* Neither function waits. False: bytes are left that the terminal has not taken. */
bool aj_screen_put(struct aj_screen *screen, const char *data, size_t bytes);
bool aj_screen_flush(struct aj_screen *screen);
/* Write the rest, waiting for the terminal. Returns -1 when the terminal is gone. */
int aj_screen_finish(struct aj_screen *screen, int number);
void aj_screen_close(struct aj_screen *screen);
