/* Bytes on their way out: a buffer that grows, of which a part may be sent already. */
#pragma once
#include <stddef.h>

struct aj_out {
	char *data; /* malloced */
	size_t bytes, sent, room;
	size_t begun; /* where what is being composed begins */
};

/* Abort when out of memory. */
void aj_out_add(struct aj_out *out, const void *data, size_t bytes);
void aj_out_text(struct aj_out *out, const char *text);
/* Room for so many bytes; what is put there counts once it is added to out->bytes. */
char *aj_out_reserve(struct aj_out *out, size_t bytes);
void aj_out_free(struct aj_out *out);
