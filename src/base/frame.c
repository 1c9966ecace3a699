/* Frames on a byte stream: headers, and a reader that takes its bytes in pieces of any size.
 * It does no I/O itself, trusts no length, and takes no memory for an announced length until bytes arrive. */
#include "base/frame.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4 << 10 };

void aj_frame_put_length(void *out, size_t bytes)
{
	unsigned char *length = out;
	for (int i = 0; i < AJ_FRAME_LENGTH; i++)
		length[AJ_FRAME_LENGTH - 1 - i] = (unsigned char)(bytes >> 8 * i);
}

size_t aj_frame_length(const void *header)
{
	const unsigned char *length = header;
	size_t bytes = 0;
	for (int i = 0; i < AJ_FRAME_LENGTH; i++)
		bytes = bytes << 8 | length[i];
	return bytes;
}

void aj_frame_header(unsigned char out[AJ_FRAME_HEADER], uint32_t body_bytes, uint8_t kind)
{
	aj_frame_put_length(out, (size_t)body_bytes + 1);
	out[AJ_FRAME_LENGTH] = kind;
}

static void reserve(struct aj_frame_reader *r, size_t bytes)
{
	size_t room = r->room ? r->room : FIRST_ROOM;
	if (r->room >= r->have + bytes)
		return;
	while (room < r->have + bytes)
		room *= 2;
	r->room = room < r->want ? room : r->want;
	r->body = realloc(r->body, r->room);
	if (!r->body)
		abort();
}

long aj_frame_feed(struct aj_frame_reader *r, const char *data, size_t bytes, const char **ret_body)
{
	size_t used = 0;
	*ret_body = NULL;
	while (r->head_bytes < AJ_FRAME_LENGTH && used < bytes)
		r->head[r->head_bytes++] = (unsigned char)data[used++];
	if (r->head_bytes < AJ_FRAME_LENGTH)
		return (long)used;
	r->want = aj_frame_length(r->head);
	if (r->want == 0 || r->want > r->cap_bytes)
		return -1;
	size_t left = r->want - r->have, take = left < bytes - used ? left : bytes - used;
	if (take == r->want) {
		*ret_body = data + used;
		r->have = take;
	} else if (take) {
		reserve(r, take);
		memcpy(r->body + r->have, data + used, take);
		*ret_body = aj_frame_filled(r, take);
	}
	return (long)(used + take);
}

size_t aj_frame_missing(const struct aj_frame_reader *r)
{
	return r->head_bytes < AJ_FRAME_LENGTH ? AJ_FRAME_LENGTH - r->head_bytes : r->want - r->have;
}

char *aj_frame_room(struct aj_frame_reader *r, size_t bytes)
{
	if (!r->body || r->want - r->have < bytes)
		return NULL;
	reserve(r, bytes);
	return r->body + r->have;
}

const char *aj_frame_filled(struct aj_frame_reader *r, size_t bytes)
{
	r->have += bytes;
	return r->have == r->want ? r->body : NULL;
}

void aj_frame_next(struct aj_frame_reader *r)
{
	free(r->body);
	*r = (struct aj_frame_reader){ .cap_bytes = r->cap_bytes };
}
