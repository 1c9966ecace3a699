/* A patch on a terminal: with the colours of git, and with every control character of its lines escaped. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

struct aj_paint {
	bool colours, failed;          /* failed: nobody reads it any more */
	uint64_t old_lines, new_lines; /* that the hunk still has */
	struct aj_buffer line, out;
};
/* All of it goes to standard output. */
void aj_paint_put(struct aj_paint *paint, const char *data, size_t bytes);
void aj_paint_end(struct aj_paint *paint);
