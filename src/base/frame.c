/* Frames on a byte stream, written whole and read in pieces of any size.
 * It does no I/O itself and trusts no length. */
#include "base/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void aj_frame_header(unsigned char out[AJ_FRAME_HEADER], uint32_t body_bytes, uint8_t kind)
{
	for (int i = 0; i < 4; i++)
		out[i] = (unsigned char)(body_bytes >> (8 * i));
	out[4] = kind;
}

size_t aj_frame_length(const unsigned char header[AJ_FRAME_HEADER])
{
	uint32_t bytes = 0;
	for (int i = 0; i < 4; i++)
		bytes |= (uint32_t)header[i] << (8 * i);
	return bytes;
}

static int start_body(struct aj_frame_reader *r)
{
	size_t bytes = aj_frame_length(r->header);
	if (bytes > r->cap_bytes) {
		errno = EMSGSIZE;
		return -1;
	}
	r->kind = r->header[4];
	r->body_bytes = bytes;
	r->body = malloc(bytes + 1);
	if (!r->body)
		return -1;
	r->body[bytes] = '\0';
	return 0;
}

long aj_frame_feed(struct aj_frame_reader *r, const char *data, size_t bytes, bool *ret_done)
{
	size_t used = 0;
	*ret_done = false;
	while (r->have < AJ_FRAME_HEADER && used < bytes)
		r->header[r->have++] = (unsigned char)data[used++];
	if (r->have < AJ_FRAME_HEADER)
		return (long)used;
	if (!r->body && start_body(r) < 0)
		return -1;
	size_t at = r->have - AJ_FRAME_HEADER;
	size_t take = r->body_bytes - at < bytes - used ? r->body_bytes - at : bytes - used;
	memcpy(r->body + at, data + used, take);
	r->have += take;
	*ret_done = r->have == AJ_FRAME_HEADER + r->body_bytes;
	return (long)(used + take);
}

char *aj_frame_room(const struct aj_frame_reader *r, size_t *ret_bytes)
{
	*ret_bytes = r->body ? r->body_bytes - (r->have - AJ_FRAME_HEADER) : 0;
	return r->body ? r->body + (r->have - AJ_FRAME_HEADER) : NULL;
}

bool aj_frame_filled(struct aj_frame_reader *r, size_t bytes)
{
	r->have += bytes;
	return r->have == AJ_FRAME_HEADER + r->body_bytes;
}

void aj_frame_next(struct aj_frame_reader *r)
{
	free(r->body);
	r->body = NULL;
	r->have = r->body_bytes = 0;
}
