/* Hands composed frames to the socket, the whole backlog in one call, and cuts captured output between characters.
 * It never waits, and does not interpret a frame's JSON, which base/json.c writes into the same buffer. */
#include "serve/frame_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"

/* A buffer that has grown beyond this size is freed when it is empty. */
enum { KEPT_BYTES = 64 << 10 };

size_t aj_buffer_left(const struct aj_buffer *out)
{
	return out->bytes - out->sent;
}

/* A client that always leaves a little unread must not make the buffer grow without bound. */
static void drop_sent(struct aj_buffer *out)
{
	if (out->sent <= out->room / 2)
		return;
	memmove(out->data, out->data + out->sent, out->bytes - out->sent);
	out->bytes -= out->sent;
	out->sent = 0;
}

int aj_buffer_send(struct aj_buffer *out, int fd)
{
	while (out->sent < out->bytes) {
		ssize_t n = send(fd, out->data + out->sent, out->bytes - out->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -1;
		if (n < 0) {
			drop_sent(out);
			return 0;
		}
		out->sent += (size_t)n;
	}
	if (out->room > KEPT_BYTES)
		aj_buffer_free(out);
	out->sent = out->bytes = 0;
	return 0;
}

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
