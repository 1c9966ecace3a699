/* Cuts captured output between characters.
 * It repairs nothing: bytes that can become no character are written as they are, and json/json.c makes them U+FFFD. */
#include "serve/piece.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool aj_piece_string(struct aj_piece *piece, struct aj_buffer *out, const char *text, size_t bytes)
{
	size_t keep;
	char *joined = NULL;
	if (piece->held_bytes) {
		joined = malloc(piece->held_bytes + bytes);
		if (!joined)
			abort();
		memcpy(joined, piece->held, piece->held_bytes);
		memcpy(joined + piece->held_bytes, text, bytes);
		bytes += piece->held_bytes;
		text = joined;
	}
	keep = aj_utf8_incomplete_tail(text, bytes);
	memcpy(piece->held, text + bytes - keep, keep);
	piece->held_bytes = keep;
	if (bytes > keep)
		aj_buffer_string(out, text, bytes - keep);
	free(joined);
	return bytes > keep;
}
