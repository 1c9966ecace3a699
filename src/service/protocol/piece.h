/* Captured output arrives in pieces, which may end within a UTF-8 character. */
#pragma once
#include <stdbool.h>

#include "base/json/json.h"

struct aj_piece {
	char tail[4];
	size_t tail_bytes;
};
/* Write the tail and `text` as the member `data`, without an incomplete character at the end, which is the tail for the next call;
 * and as `data_base64`, too, where they are no UTF-8. False: nothing was written, because there is no complete character yet. */
bool aj_piece_data(struct aj_piece *piece, struct aj_buffer *out, const char *text, size_t bytes);
/* Write the tail, an incomplete character, as these members: the output has ended. */
void aj_piece_end(const struct aj_piece *piece, struct aj_buffer *out);
