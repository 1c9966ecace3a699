/* Captured output arrives in pieces, which may end within a UTF-8 character. */
#pragma once
#include <stdbool.h>

#include "base/json/json.h"

struct aj_piece {
	char tail[4];
	size_t tail_bytes;
};
/* Write the tail and `text` as the member `data`, and as `data_base64` too if they are not UTF-8. An incomplete character at the
 * end is the tail for the next call. False: nothing was written, as there is no complete character yet. */
bool aj_piece_data(struct aj_piece *piece, struct aj_buffer *out, const char *text, size_t bytes);
/* Write the tail, an incomplete character, as these members: the output has ended. */
void aj_piece_end(const struct aj_piece *piece, struct aj_buffer *out);
