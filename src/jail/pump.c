/* Moves a command's output from its pipe to a file or terminal of the caller's, for which the command then has no descriptor.
 * Drops nothing silently, and waits for a terminal no longer than a second once the jail is gone. */
#include "jail/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

enum { LAST_MS = 1000 };

void aj_pump_open(struct aj_pump *pump, int number, enum aj_escapes escapes)
{
	pump->terminal = isatty(number);
	aj_escape_init(&pump->filter, escapes);
	pump->fd = pump->terminal ? aj_fd_reopen(number, O_WRONLY | O_NONBLOCK | O_NOCTTY) : -1;
	if (pump->fd < 0)
		pump->fd = fcntl(number, F_DUPFD_CLOEXEC, 3);
	pump->last = pump->clean = false;
	pump->total_bytes = pump->at = pump->bytes = 0;
}

int aj_pump_flush(struct aj_pump *pump)
{
	while (pump->at < pump->bytes) {
		struct pollfd ready = { .fd = pump->fd, .events = POLLOUT };
		int r = poll(&ready, 1, pump->last ? LAST_MS : 0);
		if (r < 0 && errno == EINTR)
			continue; /* output is kept only for a destination that is full: epoll watches no regular file */
		if (r == 0 && pump->last)
			errno = ETIMEDOUT;
		if (r <= 0)
			return r == 0 && !pump->last ? 0 : -1;
		ssize_t n = write(pump->fd, pump->kept + pump->at, pump->bytes - pump->at);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -1;
		pump->at += (size_t)n;
	}
	pump->at = pump->bytes = 0;
	return 1;
}

int aj_pump_write(struct aj_pump *pump, const char *data, size_t bytes)
{
	pump->total_bytes += bytes;
	if (pump->terminal) {
		aj_escape_time(&pump->filter, aj_now_us());
		bytes = aj_escape_filter(&pump->filter, data, bytes, pump->kept);
	} else {
		memcpy(pump->kept, data, bytes);
	}
	pump->bytes = bytes;
	return aj_pump_flush(pump);
}

static void undo_modes(struct aj_pump *pump)
{
	pump->bytes += aj_modes_undo(&pump->filter.modes, pump->kept + pump->bytes);
}

void aj_pump_pause(struct aj_pump *pump, bool paused)
{
	static const char lines[] = AJ_MODES_ON_CLEAN_LINES;
	bool room = sizeof pump->kept - pump->bytes >= AJ_MODES_TEXT + sizeof lines;
	if (!pump->terminal)
		return;
	if (paused && room) {
		undo_modes(pump);
		memcpy(pump->kept + pump->bytes, lines, sizeof lines - 1);
		pump->bytes += sizeof lines - 1;
	} else if (pump->clean && room) {
		pump->bytes += aj_modes_again(&pump->filter.modes, pump->kept + pump->bytes);
	}
	pump->clean = paused && room;
	aj_pump_flush(pump); /* an error is found when more is written */
}

bool aj_pump_is_flushed(const struct aj_pump *pump)
{
	return !pump->terminal || (pump->clean && !pump->bytes);
}

void aj_pump_close(struct aj_pump *pump)
{
	if (pump->terminal && pump->last && !pump->bytes) {
		undo_modes(pump);
		aj_pump_flush(pump);
	}
	aj_close(&pump->fd);
}
