/* Outgoing bytes: a growing buffer, part of which may have been sent already. */
#pragma once
#include <stddef.h>

struct aj_buffer {
	char *data; /* malloced */
	size_t bytes, sent, room;
	size_t begun; /* where the frame that is being composed begins */
};

/* Abort when out of memory. */
void aj_buffer_add(struct aj_buffer *out, const void *data, size_t bytes);
void aj_buffer_text(struct aj_buffer *out, const char *text);
/* Reserve room for so many bytes; the caller adds the bytes written to out->bytes. */
char *aj_buffer_reserve(struct aj_buffer *out, size_t bytes);
/* Begin a frame (base/frame.h), append its bytes, then end or cancel it. */
void aj_buffer_begin(struct aj_buffer *out);
void aj_buffer_end(struct aj_buffer *out);
void aj_buffer_cancel(struct aj_buffer *out);
void aj_buffer_free(struct aj_buffer *out);
