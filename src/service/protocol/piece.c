/* Cuts captured output between characters, and adds the bytes where they are no text.
 * It repairs nothing: base/json/json.c makes each byte of no character U+FFFD. */
#include "service/protocol/piece.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/text.h"

static void put_data(struct aj_buffer *out, const char *text, size_t bytes)
{
	aj_buffer_text(out, "\"data\":");
	aj_buffer_string(out, text, bytes);
	if (aj_utf8_valid_prefix(text, bytes) == bytes)
		return;
	aj_buffer_text(out, ",\"data_base64\":\"");
	aj_base64(aj_buffer_reserve(out, AJ_BASE64_BYTES(bytes)), text, bytes);
	out->bytes += AJ_BASE64_BYTES(bytes);
	aj_buffer_text(out, "\"");
}

bool aj_piece_data(struct aj_piece *piece, struct aj_buffer *out, const char *text, size_t bytes)
{
	size_t keep;
	char *joined = NULL;
	if (piece->tail_bytes) {
		joined = malloc(piece->tail_bytes + bytes);
		if (!joined)
			abort();
		memcpy(joined, piece->tail, piece->tail_bytes);
		memcpy(joined + piece->tail_bytes, text, bytes);
		bytes += piece->tail_bytes;
		text = joined;
	}
	keep = aj_utf8_incomplete_tail(text, bytes);
	memcpy(piece->tail, text + bytes - keep, keep);
	piece->tail_bytes = keep;
	if (bytes > keep)
		put_data(out, text, bytes - keep);
	free(joined);
	return bytes > keep;
}

void aj_piece_end(const struct aj_piece *piece, struct aj_buffer *out)
{
	put_data(out, piece->tail, piece->tail_bytes);
}
