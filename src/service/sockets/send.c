/* Hands a buffer's frames to a socket, the whole backlog in one call.
 * It never waits, and looks at no byte that it sends. */
#include "service/sockets/send.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

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
