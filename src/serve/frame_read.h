/* A client's frames: 4 bytes of length, big endian, then the body. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/json_scan.h"

enum { AJ_IN_VALUES = 1000000 }; /* JSON values of a frame */

/* Ready when zeroed and cap_bytes is set. */
struct aj_frame_in {
	size_t cap_bytes; /* of a body */
	unsigned char head[4];
	size_t head_bytes;
	char *body; /* owned: the bytes of a frame that did not arrive in one piece */
	size_t have, want, room;
	struct aj_scan scan; /* state after `have` bytes of the body */
};

/* Consume bytes of `data`. Returns the number used, or -1: an empty frame, or one beyond the cap. *ret_body is set when a frame is whole;
 * it points into `data` or `in`; call aj_frame_in_next() before feeding more. */
long aj_frame_in_feed(struct aj_frame_in *in, const char *data, size_t bytes, const char **ret_body, size_t *ret_bytes);
void aj_frame_in_next(struct aj_frame_in *in);
/* Has a frame begun and not ended? */
bool aj_frame_in_begun(const struct aj_frame_in *in);
