/* Frames that arrive from a client: 4 bytes of length, big endian, then the body. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/json_scan.h"

enum { AJ_IN_VALUES = 1000000 }; /* JSON values of a frame */

/* Zeroed, with a cap, is ready. */
struct aj_frame_in {
	size_t cap_bytes; /* of a body */
	unsigned char head[4];
	size_t head_bytes;
	char *body; /* owned: of a frame that did not arrive in one piece */
	size_t have, want, room;
	struct aj_scan scan; /* of what is there of the body */
};

/* Take from `data`. The number of bytes used, or -1: an empty frame, or one beyond the cap. When *ret_body is set it holds a frame,
 * in `data` or in `in`; call aj_frame_in_next() before feeding more. */
long aj_frame_in_feed(struct aj_frame_in *in, const char *data, size_t bytes, const char **ret_body, size_t *ret_bytes);
void aj_frame_in_next(struct aj_frame_in *in);
/* Is there a frame that has not come to its end? */
bool aj_frame_in_begun(const struct aj_frame_in *in);
