/* What is to be sent to a client: frames of JSON, composed where they are sent from. */
#pragma once
#include <stdbool.h>

#include "base/json.h"

enum { AJ_LENGTH_BYTES = 4 };

/* A frame is begun, gets its text, and is ended or taken back. */
void aj_buffer_begin(struct aj_buffer *out);
void aj_buffer_end(struct aj_buffer *out);
void aj_buffer_cancel(struct aj_buffer *out);

size_t aj_buffer_left(const struct aj_buffer *out);
/* Send what the socket takes. -1 with errno when it takes nothing ever again. */
int aj_buffer_send(struct aj_buffer *out, int fd);

/* Output arrives in pieces that may end within a character. */
struct aj_piece {
	char held[4];
	size_t held_bytes;
};
/* How much of `text`, which follows what is held, can be shown now: all but the beginning of a character at its end, which is
 * held from then on. Writes the JSON string of it; false: there is nothing to show yet, and nothing was written. */
bool aj_piece_string(struct aj_piece *piece, struct aj_buffer *out, const char *text, size_t bytes);
