/* Writes a command's output on to one of our own standard outputs, in order and whole. What the other side does not take at once is
 * kept, and then nothing more is to be read from the jail until it has been. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_PUMP_ROOM = 32 << 10 };

struct aj_pump {
	int fd;
	bool last; /* the jail is gone: wait for the other side, but not for ever */
	uint64_t total_bytes;
	size_t at, bytes; /* of what is kept */
	char kept[AJ_PUMP_ROOM];
};

/* `number`: 1 or 2. A terminal gets an open file description of its own, so that no write to it has to wait. */
void aj_pump_open(struct aj_pump *pump, int number);
void aj_pump_close(struct aj_pump *pump);

/* Write what is kept: 1 when all of it was taken, 0 when not, -1 with errno. */
int aj_pump_flush(struct aj_pump *pump);
/* The same after `data` was added; what was kept before must have been taken, and `bytes` is at most AJ_PUMP_ROOM. */
int aj_pump_write(struct aj_pump *pump, const char *data, size_t bytes);
