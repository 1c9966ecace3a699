/* A terminal that is written to while a jail has to be watched: who stops it, or does not read its other end, holds up nothing but what is
 * shown. What it does not take at once is kept until somebody comes back to it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

struct aj_screen {
	int fd; /* an open file description of our own, O_NONBLOCK; -1: not opened, and all else does nothing */
	struct aj_buffer kept;
	size_t kept_max;
	uint64_t dropped_bytes; /* beyond that */
	bool failed;
};

/* Our descriptor `number`, a terminal. Where it cannot be opened anew it is written to as ever. */
void aj_screen_open(struct aj_screen *screen, int number);
/* Never waits. False: the terminal has not taken everything yet. */
bool aj_screen_put(struct aj_screen *screen, const char *data, size_t bytes);
bool aj_screen_flush(struct aj_screen *screen);
/* Waits until it has taken everything. -1 when it is gone. */
int aj_screen_finish(struct aj_screen *screen, int number);
void aj_screen_close(struct aj_screen *screen);
