/* A buffer that grows at its end and is sent from its beginning.
 * It sends nothing itself, and does not know the contents of its frames. */
#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/frame.h"

char *aj_buffer_reserve(struct aj_buffer *out, size_t bytes)
{
	if (out->room - out->bytes < bytes) {
		size_t room = 2 * out->room > out->bytes + bytes ? 2 * out->room : out->bytes + bytes;
		out->room = room > 4096 ? room : 4096;
		out->data = realloc(out->data, out->room);
		if (!out->data)
			abort();
	}
	return out->data + out->bytes;
}

void aj_buffer_add(struct aj_buffer *out, const void *data, size_t bytes)
{
	if (bytes)
		memcpy(aj_buffer_reserve(out, bytes), data, bytes);
	out->bytes += bytes;
}

void aj_buffer_text(struct aj_buffer *out, const char *text)
{
	aj_buffer_add(out, text, strlen(text));
}

void aj_buffer_begin(struct aj_buffer *out)
{
	aj_buffer_reserve(out, AJ_FRAME_LENGTH);
	out->begun = out->bytes;
	out->bytes += AJ_FRAME_LENGTH;
}

void aj_buffer_end(struct aj_buffer *out)
{
	aj_frame_put_length(out->data + out->begun, out->bytes - out->begun - AJ_FRAME_LENGTH);
}

void aj_buffer_cancel(struct aj_buffer *out)
{
	out->bytes = out->begun;
}

void aj_buffer_free(struct aj_buffer *out)
{
	free(out->data);
	*out = (struct aj_buffer){ 0 };
}
