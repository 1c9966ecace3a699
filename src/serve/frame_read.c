/* Cuts a client's bytes into frames, without a copy where a frame arrives whole.
 * It reads no socket, and allocates nothing for an announced length until bytes arrive. The JSON scan runs on each piece as
 * it arrives, so a long frame never occupies the loop for one long step. */
#include "serve/frame_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4 << 10 };

static void keep_bytes(struct aj_frame_in *in, const char *data, size_t bytes)
{
	if (in->room < in->have + bytes) {
		size_t room = in->room ? in->room * 2 : FIRST_ROOM;
		while (room < in->have + bytes)
			room *= 2;
		in->room = room < in->want ? room : in->want;
		in->body = realloc(in->body, in->room);
		if (!in->body)
			abort();
	}
	memcpy(in->body + in->have, data, bytes);
	in->have += bytes;
}

long aj_frame_in_feed(struct aj_frame_in *in, const char *data, size_t bytes, const char **ret_body, size_t *ret_bytes)
{
	size_t used = 0;
	*ret_body = NULL;
	if (in->head_bytes < sizeof in->head) {
		while (in->head_bytes < sizeof in->head && used < bytes)
			in->head[in->head_bytes++] = (unsigned char)data[used++];
		if (in->head_bytes < sizeof in->head)
			return (long)used;
		in->want = (size_t)in->head[0] << 24 | (size_t)in->head[1] << 16 | (size_t)in->head[2] << 8 | in->head[3];
		if (in->want == 0 || in->want > in->cap_bytes)
			return -1;
	}
	size_t left = bytes - used, take = in->want - in->have < left ? in->want - in->have : left;
	in->scan.max_values = AJ_IN_VALUES;
	aj_scan_feed(&in->scan, data + used, take);
	if (!in->have && take == in->want) {
		*ret_body = data + used;
		*ret_bytes = in->want;
		return (long)(used + take);
	}
	if (take)
		keep_bytes(in, data + used, take);
	if (in->have == in->want) {
		*ret_body = in->body;
		*ret_bytes = in->want;
	}
	return (long)(used + take);
}

void aj_frame_in_next(struct aj_frame_in *in)
{
	free(in->body);
	*in = (struct aj_frame_in){ .cap_bytes = in->cap_bytes };
}

bool aj_frame_in_begun(const struct aj_frame_in *in)
{
	return in->head_bytes > 0;
}
