/* Writes a command's output to one of our own standard outputs, completely and in order. Output that cannot be written yet is
 * kept; the jail's pipe must not be read until it has been written. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/pty/escape_filter.h"

enum { AJ_PUMP_ROOM = 32 << 10, AJ_PUMP_MODES = 2 * AJ_MODES_TEXT };

struct aj_pump {
	int fd;
	bool last; /* the jail is gone: wait for the output, but for LAST_MS at most */
	uint64_t total_bytes;
	size_t at, bytes; /* of `kept` */
	bool terminal;    /* what it gets is filtered */
	bool clean;       /* paused, and its modes are undone after the kept output */
	struct aj_escape_filter filter;
	char kept[AJ_PUMP_ROOM + AJ_ESCAPE_MAX + AJ_PUMP_MODES];
};

/* `number`: 1 or 2. A terminal is reopened: its open file description can be non-blocking. `escapes`: what a terminal gets. */
void aj_pump_open(struct aj_pump *pump, int number, enum aj_escapes escapes);
void aj_pump_close(struct aj_pump *pump);
/* Of a terminal: undo its modes after the kept output, or set them again. The caller adds nothing while the pump is paused. */
void aj_pump_pause(struct aj_pump *pump, bool paused);
/* Paused, and the terminal has taken everything; or it is not a terminal. */
bool aj_pump_is_flushed(const struct aj_pump *pump);

/* Write kept output: 1 when all was written, 0 when not, -1 with errno. */
int aj_pump_flush(struct aj_pump *pump);
/* Add `data`, at most AJ_PUMP_ROOM bytes, and flush; nothing may be kept. */
int aj_pump_write(struct aj_pump *pump, const char *data, size_t bytes);
