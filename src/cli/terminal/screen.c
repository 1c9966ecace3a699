/* Buffers output that a terminal does not accept at once, and writes it later.
 * It sets no flag on the open file description that our caller shares, and drops no output without a note of its size. */
#include "cli/terminal/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

void aj_screen_open(struct aj_screen *screen, int number)
{
	*screen = (struct aj_screen){ .fd = aj_fd_reopen(number, O_WRONLY | O_NONBLOCK | O_NOCTTY), .kept_max = SIZE_MAX };
}

bool aj_screen_flush(struct aj_screen *screen)
{
	struct aj_buffer *kept = &screen->kept;
	while (kept->sent < kept->bytes) {
		ssize_t n = write(screen->fd, kept->data + kept->sent, kept->bytes - kept->sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0) { /* the terminal is hung up */
			screen->failed = true;
			break;
		}
		kept->sent += (size_t)n;
	}
	aj_buffer_free(&screen->kept);
	return true;
}

bool aj_screen_put(struct aj_screen *screen, const char *data, size_t bytes)
{
	char note[80];
	bool taken = aj_screen_flush(screen);
	if (taken && screen->dropped_bytes) {
		int length = snprintf(note, sizeof note, "\nagentjail: %lu bytes were not shown\n", screen->dropped_bytes);
		screen->dropped_bytes = 0;
		aj_buffer_add(&screen->kept, note, (size_t)length);
	}
	size_t kept = screen->kept.bytes - screen->kept.sent, room = kept < screen->kept_max ? screen->kept_max - kept : 0;
	/* Keep the order: once bytes are dropped, all that follow are dropped too, until the terminal takes output again. */
	size_t fits = screen->dropped_bytes ? 0 : bytes < room ? bytes : room;
	aj_buffer_add(&screen->kept, data, fits);
	screen->dropped_bytes += bytes - fits;
	return aj_screen_flush(screen);
}

int aj_screen_finish(struct aj_screen *screen, int number)
{
	/* Our caller's description is blocking, so this write waits as any program's output does. */
	struct aj_buffer *kept = &screen->kept;
	int r = kept->bytes > kept->sent ? aj_write_all(number, kept->data + kept->sent, kept->bytes - kept->sent) : 0;
	aj_buffer_free(&screen->kept);
	if (r == 0 && screen->dropped_bytes)
		aj_screen_put(screen, "", 0);
	return r < 0 || screen->failed ? -1 : 0;
}

void aj_screen_close(struct aj_screen *screen)
{
	aj_buffer_free(&screen->kept);
	aj_close(&screen->fd);
}
